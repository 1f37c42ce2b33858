// SPDX-License-Identifier: Apache-2.0
#include "cache/context.hpp"

#include "src/base/log.hpp"
#include "src/base/sha256.hpp"

#include <array>
#include <atomic>
#include <span>
#include <sys/random.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quantjit::cache {

Warnings::Warnings(std::function<void(std::string_view)> sink) : sink_(std::move(sink)) {
  if (!sink_) {
    sink_ = [](std::string_view message) { base::log_warn(message); };
  }
}

void Warnings::warn(const std::string& cause, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (causes_.size() < kMaxCauses && causes_.insert(cause).second) {
    sink_(message);
  }
}

Context::Context(StoreOptions store_options)
    : options(std::move(store_options)),
      files(options.file_system != nullptr ? *options.file_system : posix_file_system()),
      clock(options.clock != nullptr ? *options.clock : system_clock()),
      counters(std::make_shared<Counters>()),
      warnings(options.warn),
      user(::geteuid()) {}

void Context::report_error(const std::string& root, IoError error, std::string_view doing) {
  counters->add_error(error);
  warnings.warn(
      "error:" + root + ":" + error_name(error),
      "cache root " + root + ": " + describe_error(error) + " at " + std::string(doing) +
          "; kernels that cannot be stored stay in memory and are compiled again by later "
          "processes; free or repair the disk, or set QUANTJIT_CACHE_DIR to another root");
}

std::string unique_token() {
  static std::atomic<std::uint64_t> calls{0};
  std::array<std::uint8_t, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    // Kernels without getrandom: the process, the time and a count are unique enough on one host.
    const std::string seed = std::to_string(::getpid()) + ":" +
                             std::to_string(system_clock().since_epoch().count()) + ":" +
                             std::to_string(calls.fetch_add(1));
    const base::Sha256Digest digest = base::sha256(seed);
    std::copy_n(digest.begin(), bytes.size(), bytes.begin());
  }
  return base::to_hex(bytes);
}

std::string describe_error(IoError error) {
  return error_name(error) + " (" + std::generic_category().message(error) + ")";
}

}  // namespace quantjit::cache
