// SPDX-License-Identifier: Apache-2.0
// Kernels of the program itself, through the same service: a `.cuh` text with a trait schema
// becomes an operation whose descriptors are specialized, compiled, cached, prewarmed and loaded
// like the library's own. The program launches it with a grid, a block and a parameter struct.
//
// The source may include the library's `device/*.cuh` and `params.h`; its key covers all of it by
// content. It must be self-contained, as NVRTC compiles it without any header of CUDA or C++.
//
//   service.register_source({.op = "scale_rows",
//                            .path = "engine/scale_rows.cuh",
//                            .text = kScaleRows,
//                            .keys = {{"width", {{"4"}, {"8"}}}},
//                            .entries = {{"engine::scale_rows", {"width", "pdl"}}},
//                            .parameter_bytes = sizeof(ScaleRowsParams)});
//   const quantjit::Kernel kernel = service.get("scale_rows:width=8");
//   quantjit::launch(kernel, {.grid = {rows}, .block = {128}}, params, stream);
#pragma once

#include <quantjit/export.hpp>
#include <quantjit/kernel.hpp>
#include <quantjit/tensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace quantjit {

/// One value of a key.
struct SourceValue {
  std::string value;  ///< in descriptors: letters, digits, '_' and '.'
  /// The template argument that it stands for: an integer, true, false, or an identifier, which may
  /// be qualified (`engine::kWide`). Empty: the value itself.
  std::string argument = {};

  friend bool operator==(const SourceValue&, const SourceValue&) = default;
};

/// One key of an operation. `pdl` (true or false) and `math` are always there and not listed.
struct SourceKey {
  std::string key;                  ///< lower-case identifier
  std::vector<SourceValue> values;  ///< 1 to 64, the default first

  friend bool operator==(const SourceKey&, const SourceKey&) = default;
};

/// One `__global__` function of a source. Its one parameter is the parameter struct, by value.
struct SourceEntry {
  std::string function;  ///< qualified name, e.g. "engine::scale_rows"
  /// What stands between its angle brackets: names of keys, `pdl`, `math` (1 = fast, 2 = precise),
  /// integers, true or false. None: the function is no template.
  std::vector<std::string> arguments = {};

  friend bool operator==(const SourceEntry&, const SourceEntry&) = default;
};

/// A file that a source includes.
struct SourceInclude {
  std::string path;  ///< as in `#include "path"`
  std::string text;  ///< its content

  friend bool operator==(const SourceInclude&, const SourceInclude&) = default;
};

/// An operation of the program.
struct Source {
  std::string op;         ///< name in descriptors, a lower-case identifier that is not built in
  std::string path;       ///< of the source in the include root: "engine/scale_rows.cuh"
  std::string text = {};  ///< the source itself; or
  std::string file = {};  ///< a file that holds it, which reload_sources() reads again
  std::vector<SourceInclude> includes = {};  ///< files of the program that it includes
  std::vector<SourceKey> keys = {};          ///< at most 16, in canonical order
  std::vector<SourceEntry> entries;          ///< 1 to 3; a launch picks one by index
  std::size_t parameter_bytes = 0;           ///< size of the parameter struct
  std::size_t dynamic_shared_bytes = 0;      ///< most that a launch asks for, in bytes a block
  bool fmad = false;  ///< whether the compiler may contract a * b + c into one rounding

  friend bool operator==(const Source&, const Source&) = default;
};

/// How a kernel of a registered operation is launched.
struct RawLaunch {
  std::array<std::uint32_t, 3> grid = {1, 1, 1};   ///< blocks
  std::array<std::uint32_t, 3> block = {1, 1, 1};  ///< threads
  std::uint32_t shared_bytes = 0;                  ///< dynamic shared memory a block
  unsigned entry = 0;                              ///< index into Source::entries
};

/// Launches an entry point. Asynchronous; takes no lock and allocates nothing. The parameters are
/// copied before it returns. With pdl=true and code that waits for the kernel in front of it, the
/// launch may start before that one ends. No tensor is checked: sizes and addresses are the
/// caller's. Thread safe.
/// @param kernel from KernelService::get with a descriptor of a registered operation
/// @param parameters the parameter struct, `parameter_bytes` long as registered
/// Throws: InvalidArgument before any CUDA call; DriverError.
QUANTJIT_API void launch(const Kernel& kernel, const RawLaunch& how, const void* parameters,
                         std::size_t parameter_bytes, Stream stream);

/// As above with the struct itself.
template <typename Parameters>
void launch(const Kernel& kernel, const RawLaunch& how, const Parameters& parameters,
            Stream stream) {
  static_assert(std::is_trivially_copyable_v<Parameters>);
  launch(kernel, how, &parameters, sizeof(Parameters), stream);
}

}  // namespace quantjit
