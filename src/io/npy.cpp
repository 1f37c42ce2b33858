// SPDX-License-Identifier: Apache-2.0
#include "src/io/npy.hpp"

#include "src/io/host_file.hpp"
#include "src/io/npy_header.hpp"
#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <array>
#include <cstring>
#include <string_view>

namespace quantjit::io {

namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kPreamble = kMagic.size() + 2;  // and two version bytes
constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kLongestHeader = std::uint64_t{1} << 20U;

struct TypeName {
  std::string_view descr;
  DType dtype;
};

// The first name of a type is the one that is written.
constexpr std::array kTypes{
    TypeName{"<f4", DType::kF32},       TypeName{"<f2", DType::kF16},
    TypeName{"<V2", DType::kBF16},      TypeName{"|V2", DType::kBF16},
    TypeName{"bfloat16", DType::kBF16}, TypeName{"<V1", DType::kE4M3},
    TypeName{"|V1", DType::kE4M3},      TypeName{"float8_e4m3fn", DType::kE4M3},
    TypeName{"|u1", DType::kE8M0},      TypeName{"|i1", DType::kInt8},
    TypeName{"<i4", DType::kInt32},     TypeName{"<i8", DType::kInt64}};

DType parse_type(const InputFile& file, std::string_view descr, UInt16Reading uint16) {
  for (const TypeName& type : kTypes) {
    if (type.descr == descr) {
      return type.dtype;
    }
  }
  if (descr == "<u2" && uint16 == UInt16Reading::kBF16) {
    return DType::kBF16;
  }
  throw InvalidArgument(
      "file " + file.name() + ", descr", traits::quote(descr),
      "it must be <f4, <f2, <V2 (bf16), <V1 (e4m3), |u1, |i1, <i4 or <i8" +
          std::string(descr == "<u2" ? "; <u2 can be read as bf16 if asked for" : ""));
}

std::string_view type_name(DType dtype) {
  for (const TypeName& type : kTypes) {
    if (type.dtype == dtype) {
      return type.descr;
    }
  }
  throw InvalidArgument("dtype", std::to_string(static_cast<int>(dtype)),
                        "it must be an enumerator of DType");
}

/// Little-endian integer of `size` bytes at `offset`.
std::uint64_t read_integer(const InputFile& file, std::uint64_t offset, std::size_t size) {
  std::array<std::byte, 8> bytes{};
  file.read_at(offset, std::span(bytes).first(size));
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = value << 8U | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return value;
}

/// Where the header's text begins and ends, in bytes from the start of the file.
struct HeaderPlace {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

HeaderPlace find_header(const InputFile& file) {
  std::array<std::byte, kPreamble> preamble{};
  if (file.size() >= kPreamble) {
    file.read_at(0, preamble);
  }
  if (std::memcmp(preamble.data(), kMagic.data(), kMagic.size()) != 0) {
    throw InvalidArgument("file " + file.name(), "no .npy file",
                          "it must begin with the NumPy magic");
  }
  const int major = std::to_integer<int>(preamble[kMagic.size()]);
  if (major < 1 || major > 3) {
    throw InvalidArgument("file " + file.name() + ", format version", std::to_string(major),
                          "only versions 1 to 3 are known");
  }
  const std::size_t length_size = major == 1 ? 2 : 4;
  HeaderPlace place;
  place.begin = kPreamble + length_size;
  const std::uint64_t length = read_integer(file, kPreamble, length_size);
  place.end = place.begin + length;
  if (length > kLongestHeader || place.end > file.size()) {
    throw InvalidArgument("file " + file.name() + ", header length", std::to_string(length),
                          "the header must end within the file and within 1 MiB");
  }
  return place;
}

}  // namespace

HostTensor read_npy(const std::filesystem::path& path, UInt16Reading uint16) {
  const InputFile file(path);
  const HeaderPlace place = find_header(file);
  std::string text(static_cast<std::size_t>(place.end - place.begin), '\0');
  file.read_at(place.begin, std::as_writable_bytes(std::span(text)));
  const NpyHeader header = parse_npy_header("file " + file.name(), text);
  HostTensor tensor;
  tensor.dtype = parse_type(file, header.descr, uint16);
  tensor.shape = header.shape;
  if (header.fortran_order && tensor.shape.size() > 1) {
    throw InvalidArgument("file " + file.name() + ", fortran_order", "True",
                          "only row-major arrays are read; save numpy.ascontiguousarray(array)");
  }
  const std::uint64_t bytes =
      checked_bytes("file " + file.name(), tensor.shape, size_in_bytes(tensor.dtype));
  if (bytes != file.size() - place.end) {
    throw InvalidArgument("file " + file.name() + ", data",
                          std::to_string(file.size() - place.end) + " bytes",
                          "the shape needs " + std::to_string(bytes));
  }
  tensor.data.resize(static_cast<std::size_t>(bytes));
  file.read_at(place.end, tensor.data);
  return tensor;
}

void write_npy(const std::filesystem::path& path, const HostTensorView& tensor) {
  validate("file " + traits::quote(path.string()), tensor);
  if (tensor.shape.size() > kMostNpyDimensions) {
    throw InvalidArgument("file " + traits::quote(path.string()) + ", shape",
                          "of " + std::to_string(tensor.shape.size()) + " dimensions",
                          "a .npy file has at most " + std::to_string(kMostNpyDimensions));
  }
  std::string header = "{'descr': '" + std::string(type_name(tensor.dtype)) +
                       "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    header += (i == 0 ? "" : " ") + std::to_string(tensor.shape[i]) + ",";
  }
  header += "), }";
  // The data start at a multiple of 64 bytes; the header ends in a line feed.
  const std::size_t unpadded = kPreamble + 2 + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  // Version 1: a length of 2 bytes, enough for so few dimensions.
  std::string preamble(kMagic);
  preamble += {'\x01', '\x00'};
  preamble += static_cast<char>(header.size() & 0xFFU);
  preamble += static_cast<char>(header.size() >> 8U);
  preamble += header;
  const std::array pieces{std::as_bytes(std::span(preamble)), tensor.data};
  write_file(path, pieces);
}

}  // namespace quantjit::io
