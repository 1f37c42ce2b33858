// SPDX-License-Identifier: Apache-2.0
#include "src/io/safetensors.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>

#include <array>
#include <fstream>
#include <random>

using namespace quantjit;
using quantjit::test::ContainsSubstring;

namespace {

std::string safetensors_file(const std::string& header, const std::string& data) {
  std::string file;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    file += static_cast<char>(header.size() >> shift & 0xFFU);
  }
  return file + header + data;
}

/// Opens and reads all of a file's tensors; the message of the InvalidArgument, empty without one.
std::string refusal(const std::string& content) {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "model.safetensors";
  std::ofstream(path, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
  try {
    const io::SafetensorsFile file(path);
    for (const io::SafetensorsEntry& entry : file.entries()) {
      static_cast<void>(file.read(entry.name));
    }
  } catch (const InvalidArgument& failure) {
    return failure.what();
  }
  return {};
}

constexpr const char* kTwo = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"BF16","shape":[1,3],"data_offsets":[8,14]},)"
                             R"("__metadata__":{"format":"pt"}})";

}  // namespace

TEST_CASE("Safetensors: every type goes out and comes back", "[io]") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "model.safetensors";
  constexpr std::array kDTypes{DType::kBF16, DType::kF16,   DType::kF32,   DType::kE4M3,
                               DType::kInt8, DType::kInt32, DType::kInt64, DType::kE8M0};
  std::vector<std::vector<std::byte>> data;
  std::vector<io::NamedTensor> tensors;
  for (const DType dtype : kDTypes) {
    data.emplace_back(6 * size_in_bytes(dtype), static_cast<std::byte>(data.size() + 1));
    tensors.push_back({"tensor." + std::string(to_string(dtype)), {dtype, {2, 3}, data.back()}});
  }
  tensors.push_back({"empty", {DType::kF32, {0, 4}, {}}});
  tensors.push_back({"scalar \"\xc3\xa4\"", {DType::kE4M3, {}, std::span(data[0]).first(1)}});
  io::write_safetensors(path, tensors);
  const io::SafetensorsFile file(path);
  REQUIRE(file.entries().size() == tensors.size());
  for (const io::NamedTensor& named : tensors) {
    CAPTURE(named.name);
    const io::HostTensor read = file.read(named.name);
    CHECK(read.dtype == named.tensor.dtype);
    CHECK(read.shape == named.tensor.shape);
    CHECK(std::equal(read.data.begin(), read.data.end(), named.tensor.data.begin(),
                     named.tensor.data.end()));
  }
}

TEST_CASE("Safetensors: entries have names, types, shapes and places", "[io]") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "model.safetensors";
  const std::string content = safetensors_file(kTwo, std::string(14, 'x'));
  std::ofstream(path, std::ios::binary) << content;
  const io::SafetensorsFile file(path);
  REQUIRE(file.entries().size() == 2);
  const io::SafetensorsEntry* entry = file.find("b");
  REQUIRE(entry != nullptr);
  CHECK(entry->dtype == "BF16");
  CHECK(entry->shape == std::vector<std::int64_t>{1, 3});
  CHECK(entry->end == content.size());
  CHECK(file.find("c") == nullptr);
  CHECK_THROWS_WITH(file.read("c"), ContainsSubstring("\"c\"") && ContainsSubstring("\"a\""));
}

TEST_CASE("Safetensors: hostile headers are refused with the file's name", "[io]") {
  REQUIRE(refusal(safetensors_file(kTwo, std::string(14, 'x'))).empty());
  const auto fields = [](const char* dtype, const char* shape, const char* offsets) {
    return std::string("{\"dtype\":") + dtype + ",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
  };
  const auto two = [&](const std::string& first, const std::string& second, const char* name) {
    return "{\"a\":" + first + ",\"" + name + "\":" + second + "}";
  };
  constexpr const char* kF32 = "\"F32\"";
  const std::vector<std::string> tensors{
      "1",
      "{}",
      R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1})",
      fields("7", "[2]", "[0,8]"),
      fields("\"F64\"", "[1]", "[0,8]"),
      fields("\"F4\"", "[1]", "[0,8]"),
      fields(kF32, "2", "[0,8]"),
      fields(kF32, "[-2]", "[0,8]"),
      fields(kF32, "[2.0]", "[0,8]"),
      fields(kF32, "[[2]]", "[0,8]"),
      fields(kF32, "[9223372036854775808]", "[0,8]"),
      fields(kF32, "[4611686018427387904,4]", "[0,0]"),
      fields(kF32, "[4294967296,4294967296,0]", "[0,0]"),
      fields(kF32, "[2]", "[0,9]"),
      fields(kF32, "[3]", "[0,8]"),
      fields(kF32, "[2]", "[8,0]"),
      fields(kF32, "[2]", "[0]"),
      fields(kF32, "[2]", "[-8,0]"),
      fields(kF32, "[1]", "[4,8]"),
      fields(kF32, "[1]", "[0,4]"),
      fields(kF32, "[2]", "[18446744073709551608,18446744073709551615]"),
      std::string(1U << 20U, '['),
  };
  const std::string whole = fields(kF32, "[2]", "[0,8]");
  std::vector<std::string> headers{
      "",
      "{",
      "[]",
      "null",
      "\xff\xff",
      two(whole, whole, "a"),
      two(whole, fields(kF32, "[1]", "[4,8]"), "b"),
      two(fields(kF32, "[1]", "[0,4]"), fields("\"F16\"", "[1]", "[6,8]"), "b")};
  for (const std::string& tensor : tensors) {
    headers.push_back("{\"a\":" + tensor + "}");
  }
  for (const std::string& header : headers) {
    CAPTURE(header.substr(0, 200));
    const std::string message = refusal(safetensors_file(header, std::string(8, 'x')));
    CHECK_THAT(message, ContainsSubstring("model.safetensors"));
    CHECK(message.size() < 600);
  }
}

TEST_CASE("Safetensors: truncated files and absurd lengths are refused", "[io]") {
  const std::string whole = safetensors_file(kTwo, std::string(14, 'x'));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_THAT(refusal(whole.substr(0, size)), ContainsSubstring("model.safetensors"));
  }
  CHECK_THAT(refusal(whole + "x"), ContainsSubstring("end at byte"));
  CHECK_THAT(refusal(std::string(8, '\xff') + whole), ContainsSubstring("header length"));
  CHECK_THAT(refusal(std::string("\x00\x00\x00\x00\x00\x00\x00\x80", 8) + whole),
             ContainsSubstring("header length"));
}

TEST_CASE("Safetensors: random damage gives tensors or InvalidArgument", "[io]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string whole = safetensors_file(kTwo, std::string(14, 'x'));
  std::size_t refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string content = whole;
    content[random() % (content.size() - 14)] = static_cast<char>(random() % 256);
    refused += refusal(content).empty() ? 0 : 1;
  }
  CHECK(refused > 1000);
}

TEST_CASE("Safetensors: what cannot be written is refused", "[io]") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "model.safetensors";
  const std::array<std::byte, 4> data{};
  const io::HostTensorView tensor{DType::kF32, {1}, data};
  const auto write = [&](std::vector<io::NamedTensor> tensors) {
    io::write_safetensors(path, tensors);
  };
  CHECK_THROWS_AS(write({{"", tensor}}), InvalidArgument);
  CHECK_THROWS_AS(write({{"__metadata__", tensor}}), InvalidArgument);
  CHECK_THROWS_AS(write({{"a", tensor}, {"a", tensor}}), InvalidArgument);
  CHECK_THROWS_AS(write({{"\xff", tensor}}), InvalidArgument);
  CHECK_THROWS_AS(write({{"a", {DType::kF32, {2}, data}}}), InvalidArgument);
  CHECK_THROWS_AS(write({{"a", {DType::kF32, {-1}, data}}}), InvalidArgument);
  CHECK(std::filesystem::is_empty(directory.path()));
  CHECK_THROWS_AS(io::write_safetensors(directory.path() / "no" / "file", {}), Error);
}
