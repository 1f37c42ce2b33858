// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/io/host_tensor.hpp"

#include <quantjit/tensor.hpp>

#include <string>

namespace quantjit::cli {

/// Reads a tensor of a .npy or .safetensors file.
/// @param name tensor of a .safetensors file; empty takes the only one there is
/// @param wanted dtype that the descriptor reads; 16-bit unsigned integers of a .npy file count as
/// bf16 where that is wanted
/// Throws: CommandFailure if the file cannot be read; InvalidArgument for a name that is not in the
/// file, a missing name, a file name of another kind, or a tensor of another dtype.
[[nodiscard]] io::HostTensor read_input_tensor(const std::string& path, const std::string& name,
                                               DType wanted);

}  // namespace quantjit::cli
