// SPDX-License-Identifier: Apache-2.0
// Sealing and what a miss says then; recording.
#include "src/service/body.hpp"
#include "src/service/explain.hpp"

#include <quantjit/error.hpp>

namespace quantjit {

void KernelService::seal() {
  body_->sealed.store(true, std::memory_order_release);
}

bool KernelService::sealed() const {
  return !body_->may_compile();
}

bool KernelService::record(const std::string& path) {
  return body_->recorder.start(path);
}

void KernelService::Body::note(const Descriptor& descriptor, const Arch& arch) noexcept {
  if (std::holds_alternative<CustomTraits>(descriptor.traits)) {
    return;  // who reads the record does not have its source
  }
  try {
    validate(descriptor.traits);
    recorder.note(descriptor.traits, resolve_math(descriptor, arch, options.math), arch);
  } catch (const Error&) {
    // Not a valid request: it fails by itself.
  }
}

void KernelService::Body::throw_sealed_miss(const service::Request& request) {
  counters.sealed_misses.fetch_add(1, std::memory_order_relaxed);
  const std::string arch = request.arch.to_string();
  std::string message =
      request.traits_text + " for " + arch + " is in no cache tier, and " +
      (options.jit ? "the service is sealed" : "compiling is off (QUANTJIT_JIT=off)");
  const Explanation explanation = service::explain_miss(*this, request);
  if (!explanation.nearest_key.empty()) {
    message += "; the nearest entry " + explanation.nearest_key + " differs in";
    const char* separator = " ";
    for (const Explanation::Difference& difference : explanation.differs) {
      message += separator + difference.field;
      separator = ", ";
    }
  }
  if (std::holds_alternative<CustomTraits>(request.traits)) {
    throw SealedMiss(message + "; request or prewarm it before the service is sealed");
  }
  message += "; compile it ahead with: quantjit prewarm '" +
             service::portable_text(request.traits, request.math, request.arch) + "' --arch " +
             arch;
  if (request.code == CodeKind::kPtx) {
    message += " --code ptx";
  }
  throw SealedMiss(message);
}

}  // namespace quantjit
