// SPDX-License-Identifier: Apache-2.0
// What is to be compiled, and the key that follows from it.
#pragma once

#include "cache/entry.hpp"
#include "src/base/key_text.hpp"
#include "src/service/kernel_sources.hpp"
#include "src/traits/specialization.hpp"

#include <quantjit/kernel.hpp>
#include <quantjit/traits.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace quantjit::service {

/// Who asks, which says whom a request may wait for: nobody waits for one who waits for him.
enum class Origin : std::uint8_t {
  kHere,         ///< this process
  kOrder,        ///< a client of its service, which may have the lease of this machine's cache
  kUrgentOrder,  ///< one that others wait for: it has the lease of a fleet, or is a service itself
};

/// One thing to compile, resolved: nothing in it depends on the machine.
struct Request {
  Traits traits;
  std::string traits_text;
  Arch arch;
  MathMode math = MathMode::kPrecise;
  CodeKind code = CodeKind::kCubin;
  Specialization specialization;
  std::shared_ptr<const KernelSources> sources;  ///< what `closure` points into
  Closure closure;
  std::string key_text;  ///< labelled, length-prefixed fields
  std::string id;        ///< SHA-256 of key_text, 64 hexadecimal digits
  Origin origin = Origin::kHere;
};

/// Version of what a key says: raised whenever the meaning of a field or of an entry's metadata
/// changes.
inline constexpr std::string_view kKeySchema = "1";

/// The key text of a request, from all of its other members.
[[nodiscard]] std::string make_key_text(const Request& request,
                                        std::string_view schema = kKeySchema);

/// Resolves and keys a request, which keeps the sources.
/// Throws: InvalidArgument, NotImplemented, CompileError (unreadable sources).
[[nodiscard]] Request make_request(const Descriptor& descriptor, const Arch& arch,
                                   MathMode preference, CodeKind code,
                                   std::shared_ptr<const KernelSources> sources);

/// Descriptor text that stands for this mode whatever a reader's settings are: the mode is written
/// only where the target would choose another one by itself.
[[nodiscard]] std::string portable_text(const Traits& traits, MathMode math, const Arch& arch);

using base::append_key_field;
using base::KeyField;
using base::parse_key_text;

}  // namespace quantjit::service
