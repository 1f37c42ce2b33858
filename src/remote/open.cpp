// SPDX-License-Identifier: Apache-2.0
#include "src/remote/open.hpp"

#include "src/base/log.hpp"
#include "src/remote/make_backend.hpp"

#include <quantjit/error.hpp>

#include <unistd.h>
#include <utility>

namespace quantjit::remote {
namespace {

/// Stands for a server that this build cannot talk to.
class MissingBackend final : public Backend {
 public:
  MissingBackend(std::string label, std::string reason)
      : label_(std::move(label)), reason_(std::move(reason)) {}

  Reply get(const Name& /*name*/, const Limits& /*limits*/) override { return failure(); }

  Reply put(const Name& /*name*/, std::string_view /*bytes*/, Overwrite /*overwrite*/,
            const Limits& /*limits*/) override {
    return failure();
  }

  Reply head(const Name& /*name*/, const Limits& /*limits*/) override { return failure(); }

  Reply remove(const Name& /*name*/, const Limits& /*limits*/) override { return failure(); }

  [[nodiscard]] const std::string& label() const override { return label_; }

 private:
  [[nodiscard]] Reply failure() const { return {Outcome::kFailed, {}, reason_}; }

  const std::string label_;
  const std::string reason_;
};

std::vector<std::unique_ptr<Backend>> make_servers(const TierSpec& spec) {
  std::vector<std::unique_ptr<Backend>> servers;
  for (std::size_t i = 0; i < spec.servers(); ++i) {
    try {
      servers.push_back(make_backend(spec, i));
    } catch (const NotImplemented& error) {
      base::log_warn(std::string(error.what()) + "; kernels are had without it");
      servers.push_back(std::make_unique<MissingBackend>(spec.label(i), error.what()));
    }
  }
  return servers;
}

TierOptions tier_options(const TierSpec& spec) {
  TierOptions options{.timeout = spec.timeout,
                      .compile_timeout = spec.compile_timeout,
                      .lease_wait = spec.lease_wait,
                      .max_entry = spec.max_entry,
                      .readonly = spec.access == Access::kReadOnly,
                      .breaker = {},
                      .mac_key = {}};
  if (!spec.mac_key_file.empty()) {
    options.mac_key = [path = spec.mac_key_file] {
      return cache::read_mac_key(cache::posix_file_system(), path, ::geteuid());
    };
  }
  return options;
}

}  // namespace

std::unique_ptr<Tiers> open_tiers(const std::vector<std::string>& urls, RemoteOptions options,
                                  cache::Clock& clock) {
  std::vector<std::unique_ptr<RemoteTier>> tiers;
  for (const std::string& url : urls) {
    const TierSpec spec = parse_tier(url);
    tiers.push_back(std::make_unique<RemoteTier>(tier_options(spec), make_servers(spec), clock));
  }
  return tiers.empty() ? nullptr : std::make_unique<Tiers>(std::move(tiers), options, clock);
}

}  // namespace quantjit::remote
