// SPDX-License-Identifier: Apache-2.0
#include "src/io/npy.hpp"
#include "src/io/npy_header.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>

#include <fstream>
#include <iterator>
#include <random>

using namespace quantjit;
using quantjit::test::ContainsSubstring;

namespace {

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7);
  }
  return bytes;
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void put(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// A version 1 file around a header text.
std::string npy_file(const std::string& header, const std::string& data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFFU);
  file += static_cast<char>(header.size() >> 8U);
  return file + header + data;
}

std::string refusal(const std::string& content) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "array.npy";
  put(path, content);
  try {
    static_cast<void>(io::read_npy(path));
  } catch (const InvalidArgument& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace

TEST_CASE("Npy: every type goes out and comes back", "[io]") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "array.npy";
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32, DType::kE4M3, DType::kInt8,
                            DType::kInt32, DType::kInt64, DType::kE8M0}) {
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {5}, {2, 3}, {0, 7}, {2, 1, 3, 2}}) {
      std::size_t count = 1;
      for (const std::int64_t size : shape) {
        count *= static_cast<std::size_t>(size);
      }
      const auto data = counting(count * size_in_bytes(dtype));
      io::write_npy(path, {dtype, shape, data});
      const io::HostTensor read = io::read_npy(path);
      CHECK(read.dtype == dtype);
      CHECK(read.shape == shape);
      CHECK(read.data == data);
    }
  }
}

TEST_CASE("Npy: bf16 has the bytes that NumPy and ml_dtypes write", "[io]") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "array.npy";
  const auto data = counting(6);
  io::write_npy(path, {DType::kBF16, {3}, data});
  const std::string content = content_of(path);
  CHECK(content.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK_THAT(content,
             ContainsSubstring("{'descr': '<V2', 'fortran_order': False, 'shape': (3,), }   "));
  CHECK(content.size() == 128 + 6);
  CHECK(content[127] == '\n');
}

TEST_CASE("Npy: u2 is bf16 only when asked for", "[io]") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "array.npy";
  put(path, npy_file("{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}\n", "abcd"));
  CHECK_THROWS_WITH(io::read_npy(path), ContainsSubstring("if asked for"));
  CHECK(io::read_npy(path, io::UInt16Reading::kBF16).dtype == DType::kBF16);
}

TEST_CASE("Npy: headers of other writers are read", "[io]") {
  for (const char* header :
       {"{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,3)}",
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
        "  { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , }  \n"}) {
    const io::NpyHeader parsed = io::parse_npy_header("file", header);
    CHECK(parsed.descr == "<f4");
    CHECK(parsed.shape == std::vector<std::int64_t>{2, 3});
  }
  CHECK(io::parse_npy_header("file", "{'descr':'<f4','fortran_order':True,'shape':()}")
            .fortran_order);
}

TEST_CASE("Npy: hostile headers are refused with the file's name", "[io]") {
  const std::string order = "'fortran_order': False, ";
  const std::vector<std::string> headers{
      "",
      "{",
      "{}",
      "[]",
      "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'descr': '<f4', " + order + "'shape': (1,)}",
      "{'descr': '<f4', " + order + "'shape': (1,), 'extra': 1}",
      "{'descr': '>f4', " + order + "'shape': (1,)}",
      "{'descr': '<f8', " + order + "'shape': (1,)}",
      "{'descr': [('a', '<f4')], " + order + "'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1)}",
      "{'descr': '<f4', " + order + "'shape': (-1,)}",
      "{'descr': '<f4', " + order + "'shape': (1.0,)}",
      "{'descr': '<f4', " + order + "'shape': 1}",
      "{'descr': '<f4', " + order + "'shape': (99999999999999999999,)}",
      "{'descr': '<f4', " + order + "'shape': (4611686018427387904, 4611686018427387904)}",
      "{'descr': '<f4', " + order + "'shape': (0, 4611686018427387904, 4611686018427387904)}",
      "{'descr': '<f4', " + order + "'shape': (1152921504606846976,)}",
      "{'descr': '<f4', " + order + "'shape': (1,)} trailing",
      "{'descr': '<f4', " + order + "'shape': (1,",
      "{'descr': '<f4",
      "{'descr': '<f4', " + order + "'shape': (1,)}" + std::string(1, '\0'),
      "{'descr': '<f4', " + order + "'shape': (" + std::string(100, '1') + ",)}",
  };
  for (const std::string& header : headers) {
    CAPTURE(header);
    const std::string message = refusal(npy_file(header, "abcd"));
    CHECK_THAT(message, ContainsSubstring("array.npy"));
    CHECK(message.size() < 600);
  }
  std::string many = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 33; ++i) {
    many += "1,";
  }
  CHECK_THAT(refusal(npy_file(many + ")}", "abcd")), ContainsSubstring("32"));
}

TEST_CASE("Npy: truncated and overlong files are refused", "[io]") {
  const std::string whole =
      npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}\n", std::string(16, 'x'));
  REQUIRE(refusal(whole).empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_THAT(refusal(whole.substr(0, size)), ContainsSubstring("array.npy"));
  }
  CHECK_THAT(refusal(whole + "x"), ContainsSubstring("17 bytes"));
  // A version 2 header whose length is larger than any file.
  CHECK_THAT(refusal(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12) + whole),
             ContainsSubstring("header length"));
  CHECK_THAT(refusal(std::string("\x93NUMPY\x09\x00", 8) + whole), ContainsSubstring("version"));
}

TEST_CASE("Npy: random damage gives a tensor or InvalidArgument", "[io]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "array.npy";
  const std::string whole = npy_file(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n", std::string(16, 'x'));
  std::size_t refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string content = whole;
    content[random() % (content.size() - 16)] = static_cast<char>(random() % 256);
    put(path, content);
    try {
      refused += io::read_npy(path).data.size() == 16 ? 0 : 1;
    } catch (const InvalidArgument&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("Npy: what cannot be opened or written is said with its name", "[io]") {
  const test::TemporaryDirectory directory;
  CHECK_THROWS_WITH(io::read_npy(directory.path() / "none.npy"),
                    ContainsSubstring("none.npy") && ContainsSubstring("No such file"));
  CHECK_THROWS_WITH(io::read_npy(directory.path()), ContainsSubstring("regular"));
  const auto data = counting(4);
  CHECK_THROWS_WITH(io::write_npy(directory.path() / "none" / "a.npy", {DType::kF32, {1}, data}),
                    ContainsSubstring("a.npy"));
  CHECK_THROWS_AS(io::write_npy(directory.path() / "a.npy", {DType::kF32, {2}, data}),
                  InvalidArgument);
  CHECK(std::filesystem::is_empty(directory.path()));
}
