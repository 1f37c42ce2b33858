// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/prewarm_progress.hpp"

#include <fmt/format.h>

namespace quantjit::cli {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr double kRefreshSeconds = 0.1;

std::string bar(const PrewarmProgress& progress) {
  const std::size_t full =
      progress.requested == 0 ? kBarWidth : progress.done() * kBarWidth / progress.requested;
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '.') + "] ";
}

}  // namespace

std::string progress_text(const PrewarmProgress& progress) {
  const std::size_t done = progress.done();
  std::string text = fmt::format("{} of {}", done, progress.requested);
  if (progress.failed != 0) {
    text += fmt::format(", {} failed", progress.failed);
  }
  if (done == 0 || progress.seconds <= 0) {
    return text;
  }
  const double rate = static_cast<double>(done) / progress.seconds;
  text += fmt::format(", {:.1f}/s", rate);
  if (done < progress.requested) {
    const auto left =
        static_cast<long>(static_cast<double>(progress.requested - done) / rate + 0.5);
    text += fmt::format(", {}:{:02} left", left / 60, left % 60);
  }
  return text;
}

void PrewarmMeter::show(const PrewarmProgress& progress) {
  const std::size_t done = progress.done();
  if (Console::shows_progress()) {
    if (done != progress.requested && progress.seconds - shown_seconds_ < kRefreshSeconds) {
      return;
    }
    shown_seconds_ = progress.seconds;
    console_.progress(bar(progress) + progress_text(progress));
    return;
  }
  const std::size_t tenth = progress.requested == 0 ? 0 : done * 10 / progress.requested;
  if (tenth != shown_tenth_) {
    shown_tenth_ = tenth;
    console_.message("prewarm: " + progress_text(progress));
  }
}

}  // namespace quantjit::cli
