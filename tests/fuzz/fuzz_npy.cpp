// SPDX-License-Identifier: Apache-2.0
// .npy files: what is read is as large as its shape says and comes back from a file that we write;
// all else is an InvalidArgument with one line.
#include "src/io/npy.hpp"
#include "src/io/npy_header.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>

namespace quantjit::fuzz {
namespace {

bool same(const io::HostTensor& a, const io::HostTensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.data == b.data;
}

void try_file(const std::filesystem::path& path, io::UInt16Reading uint16) {
  io::HostTensor tensor;
  try {
    tensor = io::read_npy(path, uint16);
  } catch (const InvalidArgument& refusal) {
    require_message(refusal.what());
    return;
  }
  require(tensor.data.size() == io::checked_bytes("", tensor.shape, size_in_bytes(tensor.dtype)),
          "a tensor is as large as its shape says");
  static const test::TemporaryDirectory directory;
  const std::filesystem::path copy = directory.path() / "copy.npy";
  io::write_npy(copy, {tensor.dtype, tensor.shape, tensor.data});
  require(same(io::read_npy(copy), tensor), "what is written is what is read");
}

void try_header(std::string_view text) {
  try {
    const io::NpyHeader header = io::parse_npy_header("a header", text);
    require(header.shape.size() <= io::kMostNpyDimensions, "dimensions are limited");
  } catch (const InvalidArgument& refusal) {
    require_message(refusal.what());
  }
}

}  // namespace

void fuzz_npy(const std::uint8_t* data, std::size_t size) {
  static MemoryFile file;
  const std::filesystem::path& path = file.fill(data, size);
  try_file(path, io::UInt16Reading::kRefuse);
  try_file(path, io::UInt16Reading::kBF16);
  try_header({reinterpret_cast<const char*>(data), size});
}

}  // namespace quantjit::fuzz

QUANTJIT_FUZZ_MAIN(fuzz_npy)
