// SPDX-License-Identifier: Apache-2.0
// .safetensors files: the tensors of a file that is accepted fill it without gap, and those of our
// types come back from a file that we write; all else is an InvalidArgument with one line.
#include "src/io/safetensors.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>

#include <optional>
#include <string>
#include <vector>

namespace quantjit::fuzz {
namespace {

constexpr std::size_t kMostTensors = 16;  // that are read: the rest would only cost time

/// The tensor, or nothing if its type is none of ours.
std::optional<io::HostTensor> try_tensor(const io::SafetensorsFile& file,
                                         const io::SafetensorsEntry& entry) {
  try {
    io::HostTensor tensor = file.read(entry.name);
    require(tensor.data.size() == entry.end - entry.begin, "a tensor has all of its bytes");
    require(tensor.shape == entry.shape, "a tensor has its entry's shape");
    return tensor;
  } catch (const InvalidArgument& refusal) {
    require_message(refusal.what());
    return std::nullopt;
  }
}

void try_writing(const std::vector<std::string>& names,
                 const std::vector<io::HostTensor>& tensors) {
  std::vector<io::NamedTensor> named;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    named.push_back({names[i], {tensors[i].dtype, tensors[i].shape, tensors[i].data}});
  }
  static const test::TemporaryDirectory directory;
  const std::filesystem::path copy = directory.path() / "copy.safetensors";
  io::write_safetensors(copy, named);
  const io::SafetensorsFile written(copy);
  require(written.entries().size() == tensors.size(), "every tensor is written");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const io::HostTensor again = written.read(names[i]);
    require(again.dtype == tensors[i].dtype && again.shape == tensors[i].shape &&
                again.data == tensors[i].data,
            "what is written is what is read");
  }
}

void try_file(const io::SafetensorsFile& file, std::size_t size) {
  std::vector<std::string> names;
  std::vector<io::HostTensor> tensors;
  std::uint64_t end = 0;
  for (const io::SafetensorsEntry& entry : file.entries()) {
    require(end == 0 || entry.begin == end, "tensors follow one another");
    require(entry.begin <= entry.end && entry.end <= size, "tensors lie in the file");
    end = entry.end;
    require(file.find(entry.name) == &entry, "a name leads to its entry");
    if (tensors.size() < kMostTensors && !entry.name.empty()) {
      if (std::optional<io::HostTensor> tensor = try_tensor(file, entry)) {
        names.push_back(entry.name);
        tensors.push_back(std::move(*tensor));
      }
    }
  }
  require(file.entries().empty() || end == size, "tensors fill the file");
  try_writing(names, tensors);
}

}  // namespace

void fuzz_safetensors(const std::uint8_t* data, std::size_t size) {
  static MemoryFile memory;
  const std::filesystem::path& path = memory.fill(data, size);
  std::optional<io::SafetensorsFile> file;
  try {
    file.emplace(path);
  } catch (const InvalidArgument& refusal) {
    require_message(refusal.what());
    return;
  }
  try_file(*file, size);
}

}  // namespace quantjit::fuzz

QUANTJIT_FUZZ_MAIN(fuzz_safetensors)
