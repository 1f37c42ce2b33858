// SPDX-License-Identifier: Apache-2.0
#include "cache/counters.hpp"

#include <cerrno>

namespace quantjit::cache {

std::string_view counter_name(std::size_t number) {
  if (number >= kCounterSlots) {
    return {};
  }
  switch (static_cast<Counter>(number)) {
    case Counter::kHits: return "hits";
    case Counter::kMisses: return "misses";
    case Counter::kHitsAnyToolchain: return "hits_any_toolchain";
    case Counter::kPublished: return "published";
    case Counter::kPublishFailed: return "publish_failed";
    case Counter::kPromoted: return "promoted";
    case Counter::kRejected: return "rejected";
    case Counter::kQuarantined: return "quarantined";
    case Counter::kQuarantineFailed: return "quarantine_failed";
    case Counter::kReadFailed: return "read_failed";
    case Counter::kEvicted: return "evicted";
    case Counter::kEvictedBytes: return "evicted_bytes";
    case Counter::kSweptTemporary: return "swept_temporary";
    case Counter::kLeaseAcquired: return "lease_acquired";
    case Counter::kLeaseWaited: return "lease_waited";
    case Counter::kLeaseTakenOver: return "lease_taken_over";
    case Counter::kLeaseTimedOut: return "lease_timed_out";
    case Counter::kLeaseLost: return "lease_lost";
    case Counter::kLeaseUnavailable: return "lease_unavailable";
    case Counter::kNoWritableRoot: return "no_writable_root";
    case Counter::kErrorEexist: return "error_eexist";
    case Counter::kErrorEnoent: return "error_enoent";
    case Counter::kErrorEstale: return "error_estale";
    case Counter::kErrorEbusy: return "error_ebusy";
    case Counter::kErrorEnospc: return "error_enospc";
    case Counter::kErrorErofs: return "error_erofs";
    case Counter::kErrorEdquot: return "error_edquot";
    case Counter::kErrorEacces: return "error_eacces";
    case Counter::kErrorEio: return "error_eio";
    case Counter::kErrorOther: return "error_other";
  }
  return {};
}

Counter counter_of_error(IoError error) {
  switch (error) {
    case EEXIST: return Counter::kErrorEexist;
    case ENOENT: return Counter::kErrorEnoent;
    case ESTALE: return Counter::kErrorEstale;
    case EBUSY: return Counter::kErrorEbusy;
    case ENOSPC: return Counter::kErrorEnospc;
    case EROFS: return Counter::kErrorErofs;
    case EDQUOT: return Counter::kErrorEdquot;
    case EACCES:
    case EPERM: return Counter::kErrorEacces;
    case EIO: return Counter::kErrorEio;
    default: return Counter::kErrorOther;
  }
}

CounterValues Counters::values() const {
  CounterValues values{};
  for (std::size_t i = 0; i < kCounterSlots; ++i) {
    values[i] = values_[i].load(std::memory_order_relaxed);
  }
  return values;
}

}  // namespace quantjit::cache
