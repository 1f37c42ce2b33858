// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/input_tensor.hpp"

#include "src/io/npy.hpp"
#include "src/io/safetensors.hpp"
#include "tools/cli/context.hpp"

#include <quantjit/error.hpp>

#include <optional>

namespace quantjit::cli {
namespace {

constexpr std::size_t kNamesShown = 8;

std::string known_names(const io::SafetensorsFile& file) {
  std::string text;
  std::size_t shown = 0;
  for (const io::SafetensorsEntry& entry : file.entries()) {
    if (shown++ == kNamesShown) {
      return text + ", ... (" + std::to_string(file.entries().size()) + " in all)";
    }
    text += (text.empty() ? "" : ", ") + entry.name;
  }
  return text.empty() ? "none" : text;
}

std::string choose_name(const io::SafetensorsFile& file, const std::string& name) {
  if (name.empty() && file.entries().size() == 1) {
    return file.entries().front().name;
  }
  if (name.empty() || file.find(name) == nullptr) {
    throw InvalidArgument("--tensor", name.empty() ? "missing" : "\"" + name + "\"",
                          "it must be one of the file's tensors: " + known_names(file));
  }
  return name;
}

/// What the file itself has wrong is a failure, not a misuse of the command.
template <typename Read>
auto reading(Read read) {
  try {
    return read();
  } catch (const InvalidArgument& error) {
    throw CommandFailure(error.what());
  }
}

io::HostTensor read_tensor(const std::string& path, const std::string& name, DType wanted) {
  if (path.ends_with(".npy")) {
    if (!name.empty()) {
      throw InvalidArgument("--tensor", "\"" + name + "\"",
                            "a .npy file holds one tensor without a name");
    }
    return reading([&] {
      return io::read_npy(
          path, wanted == DType::kBF16 ? io::UInt16Reading::kBF16 : io::UInt16Reading::kRefuse);
    });
  }
  if (!path.ends_with(".safetensors")) {
    throw InvalidArgument("--input", "\"" + path + "\"", "it must end in .npy or .safetensors");
  }
  const auto file = reading([&] { return io::SafetensorsFile(path); });
  const std::string chosen = choose_name(file, name);
  return reading([&] { return file.read(chosen); });
}

}  // namespace

io::HostTensor read_input_tensor(const std::string& path, const std::string& name, DType wanted) {
  io::HostTensor tensor = read_tensor(path, name, wanted);
  if (tensor.dtype != wanted) {
    throw InvalidArgument("in", std::string(to_string(wanted)),
                          "the tensor in " + path + " is " + std::string(to_string(tensor.dtype)) +
                              "; write in=" + std::string(to_string(tensor.dtype)) +
                              " if the operation takes that, or convert the tensor");
  }
  return tensor;
}

}  // namespace quantjit::cli
