// SPDX-License-Identifier: Apache-2.0
// Machines of a fleet: services with caches of their own and tiers in memory.
#pragma once

#include "src/service/body.hpp"
#include "tests/support/fake_nvrtc_copy.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/tier_fixture.hpp"

#include <quantjit/service.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace quantjit::test {

inline const Arch kHopper = Arch::parse("sm_90a");
inline const std::string kText = "per_token_group_quant:group=64";
inline constexpr std::chrono::milliseconds kLong = std::chrono::minutes(5);

/// The compiler that all machines of a test have.
inline const FakeNvrtc& compiler() {
  static const auto made = [] {
    auto copy = std::make_unique<FakeNvrtc>("ptx");
    copy->add_builtins();
    return copy;
  }();
  return *made;
}

/// A machine: a cache of its own.
struct Machine {
  Machine() {
    options.cache_roots = std::vector<std::string>{root.path().string()};
    options.nvrtc = compiler().path().string();
  }

  /// A service that sees these tiers.
  template <typename... Tier>
  KernelService with(std::unique_ptr<Tier>... tier) const {
    return with(remote::RemoteOptions{}, std::move(tier)...);
  }

  template <typename... Tier>
  KernelService with(remote::RemoteOptions how, std::unique_ptr<Tier>... tier) const {
    KernelService service(options);
    service.body().remote = tiers_of(how, cache::system_clock(), std::move(tier)...);
    return service;
  }

  Machine& without_nvrtc() {
    options.nvrtc = "/nonexistent/libnvrtc.so";
    return *this;
  }

  TemporaryDirectory root;
  ServiceOptions options;
};

inline auto tier(MemoryServer& server, remote::TierOptions how = {}) {
  return tier_of(server, cache::system_clock(), std::move(how));
}

struct Got {
  Image image;
  ImageSource source{};
};

inline Got get(KernelService& service, const std::string& text = kText) {
  Got got;
  got.image = service.get_image(parse_descriptor(text), kHopper, &got.source);
  return got;
}

/// Bytes of an image as a machine by itself has them.
inline std::string code_of(const Image& image) {
  return {reinterpret_cast<const char*>(image.code().data()), image.code().size()};
}

inline std::string right_code(const std::string& text = kText) {
  static const Machine alone;
  KernelService service(alone.options);
  return code_of(get(service, text).image);
}

inline std::vector<PrewarmItem> first_items(std::size_t count) {
  std::vector<PrewarmItem> items;
  for (const Traits& traits : enumerate_traits()) {
    if (items.size() < count) {
      items.push_back({{traits, MathMode::kAuto}, kHopper});
    }
  }
  return items;
}

inline std::string entry_key(const std::string& text = kText) {
  static const Machine alone;
  KernelService service(alone.options);
  return get(service, text).image.info().key;
}

}  // namespace quantjit::test
