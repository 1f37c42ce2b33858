// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::io {

inline constexpr std::size_t kMostNpyDimensions = 32;  ///< NumPy's own limit

/// What the header of a .npy file says.
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Parses the header's Python literal, a dictionary of exactly the keys descr, fortran_order and
/// shape. At most 32 dimensions. `what` names the file in messages. Throws: InvalidArgument.
[[nodiscard]] NpyHeader parse_npy_header(const std::string& what, std::string_view text);

}  // namespace quantjit::io
