// SPDX-License-Identifier: Apache-2.0
// What the worker processes of prewarm are asked and what they answer.
#pragma once

#include "tools/cli/prewarm_report.hpp"

#include <quantjit/prewarm.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace quantjit::cli {

/// The command that a worker process runs.
inline constexpr const char* kWorkerCommand = "prewarm-worker";

enum class WorkerOutcome : std::uint8_t { kHit, kCompiled, kFailed };

struct WorkerReply {
  WorkerOutcome outcome = WorkerOutcome::kFailed;
  std::string error;  ///< one sentence, if it failed
  std::string log;    ///< the compiler's
  RemoteShare share;  ///< what this item exchanged with remote tiers
};

[[nodiscard]] std::string encode_request(const PrewarmItem& item);
/// Throws: InvalidArgument.
[[nodiscard]] PrewarmItem decode_request(std::string_view message);

[[nodiscard]] std::string encode_reply(const WorkerReply& reply);
[[nodiscard]] WorkerReply decode_reply(std::string_view message);

}  // namespace quantjit::cli
