// SPDX-License-Identifier: Apache-2.0
// What a client asks for, from the JSON body of POST /v1/compile.
#pragma once

#include <quantjit/source.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quantjit::serve {

struct Order {
  std::string traits;     ///< descriptor text
  std::string arch;       ///< e.g. "sm_90a"
  std::string math;       ///< empty: as the descriptor and the service say
  std::string code;       ///< cubin or ptx; empty: as the service says
  std::string toolchain;  ///< the only one that the client can use; empty: any
  std::string request;    ///< as the client computed it; empty: it did not
  /// Others wait for the client, perhaps this service too: it shall wait for nobody.
  bool at_once = false;
  std::optional<Source> source;
};

/// Reads a body. Throws: Refusal for what is no such order: another member, a member twice, another
/// type, and a source if `allow_sources` is false or the source breaks a rule of check_source_text.
[[nodiscard]] Order read_order(std::string_view body, bool allow_sources);

}  // namespace quantjit::serve
