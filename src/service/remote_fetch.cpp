// SPDX-License-Identifier: Apache-2.0
// What a miss on this machine makes of the remote tiers: look there, have it compiled there, or
// compile here and store it there.
#include "src/base/log.hpp"
#include "src/service/body.hpp"

#include <quantjit/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace quantjit {
namespace service {
namespace {

using remote::Counting;
using remote::Look;
using remote::LookStatus;
using remote::RemoteTier;

ImagePointer with_path(ImagePointer image, std::string path) {
  if (path.empty()) {
    return image;
  }
  auto stored = std::make_shared<detail::ImageState>(*image);
  stored->info.path = std::move(path);
  return stored;
}

/// What to do about a compile service that is busy.
enum class Patience : std::uint8_t { kNone, kUntilItAnswers };

/// One request that this machine has nothing for. Not thread safe.
class RemoteFetch {
 public:
  RemoteFetch(KernelService::Body& body, const Request& request)
      : body_(body), tiers_(*body.remote), request_(request) {
    if (const Toolchain::Found* const found = body.toolchain.find()) {
      own_toolchain_ = found->identity.short_form();
    }
  }

  [[nodiscard]] const std::string& own_toolchain() const { return own_toolchain_; }

  /// The image of the first tier that has it, stored on disk and in the tiers before; null if none
  /// has. @param toolchain empty: any
  ImagePointer look(const std::string& toolchain, Counting counting = Counting::kAll) {
    for (std::size_t i = 0; i < tiers_.size(); ++i) {
      Look look = tiers_[i].get({request_.id, toolchain, request_.key_text}, counting);
      if (look.found()) {
        remote::FleetLease none;
        if (ImagePointer image = take(tiers_[i], std::move(*look.entry), i, none)) {
          return image;
        }
      }
    }
    return nullptr;
  }

  /// The image of the first compile service that makes it, stored on disk and in all other tiers;
  /// null if none does. `lease` is given back once it is stored.
  ImagePointer let_compile(const std::string& toolchain, Patience patience,
                           remote::FleetLease& lease) {
    if (std::holds_alternative<CustomTraits>(request_.traits)) {
      return nullptr;  // its source is this program's
    }
    if (request_.origin == Origin::kUrgentOrder) {
      return nullptr;  // the service may be the one that asks
    }
    const bool at_once = lease || request_.origin != Origin::kHere;
    const std::string order = order_of(toolchain, at_once);
    for (std::size_t i = 0; i < tiers_.size(); ++i) {
      if (!tiers_[i].compiles()) {
        continue;
      }
      Look look = ask(tiers_[i], toolchain, order, patience);
      if (look.found()) {
        if (ImagePointer image = take(tiers_[i], std::move(*look.entry), tiers_.size(), lease)) {
          return image;
        }
      }
    }
    return nullptr;
  }

  /// Stores what was compiled here.
  ImagePointer keep(ImagePointer image, remote::FleetLease lease) {
    auto entry = std::make_shared<cache::Entry>(to_entry(request_, *image));
    std::string path = body_.publish(request_, *entry);
    if (cache::serializable(*entry)) {
      tiers_.put_later(entry, tiers_.size(), std::move(lease));
    }
    return with_path(std::move(image), std::move(path));
  }

 private:
  /// The image of a verified entry, which takes the lease over; null if it does not fit the
  /// request. The disk gets the entry, and so do the first `count` tiers.
  ImagePointer take(RemoteTier& tier, cache::Entry&& verified, std::size_t count,
                    remote::FleetLease& lease) {
    const auto entry = std::make_shared<const cache::Entry>(std::move(verified));
    ImagePointer image = from_entry(request_, cache::Entry(*entry), {}, own_toolchain_);
    if (image == nullptr) {
      tier.reject(entry->key.name() + ": its metadata does not fit its key");
      return nullptr;
    }
    base::log_info("took " + request_.traits_text + " for " + request_.arch.to_string() + " from " +
                   tier.label());
    std::string path = body_.publish(request_, *entry);
    tiers_.put_later(entry, count, std::move(lease));
    return with_path(std::move(image), std::move(path));
  }

  /// The body of POST /v1/compile. @param at_once others wait for this process
  [[nodiscard]] std::string order_of(const std::string& toolchain, bool at_once) const {
    nlohmann::json order{{"traits", request_.traits_text},
                         {"arch", request_.arch.to_string()},
                         {"math", to_string(request_.math)},
                         {"code", to_string(request_.code)},
                         {"request", request_.id}};
    if (!toolchain.empty()) {
      order["toolchain"] = toolchain;
    }
    if (at_once) {
      order["at_once"] = true;
    }
    return order.dump();
  }

  Look ask(RemoteTier& tier, const std::string& toolchain, const std::string& order,
           Patience patience) {
    constexpr std::chrono::nanoseconds kFirstPause = std::chrono::milliseconds(100);
    constexpr std::chrono::nanoseconds kLastPause = std::chrono::seconds(2);
    cache::Clock& clock = tiers_.clock();
    const std::chrono::nanoseconds begin = clock.since_boot();
    std::chrono::nanoseconds pause = kFirstPause;
    for (;;) {
      Look look = tier.compile({request_.id, toolchain, request_.key_text}, order);
      if (!look.busy || patience == Patience::kNone ||
          clock.since_boot() - begin >= tier.compile_timeout()) {
        return look;
      }
      clock.sleep(pause);
      pause = std::min(pause * 2, kLastPause);
    }
  }

  KernelService::Body& body_;
  remote::Tiers& tiers_;
  const Request& request_;
  std::string own_toolchain_;  // empty if there is none
};

}  // namespace
}  // namespace service

using service::Fetched;
using service::ImagePointer;
using service::Request;

ImagePointer KernelService::Body::fetch_remotely(const Request& request) {
  if (!may_ask_remote()) {
    return nullptr;
  }
  service::RemoteFetch fetch(*this, request);
  if (!fetch.own_toolchain().empty()) {
    if (ImagePointer image = fetch.look(fetch.own_toolchain())) {
      return image;
    }
  }
  if (ImagePointer image = fetch.look({})) {
    return image;
  }
  remote::FleetLease none;
  return options.jit ? fetch.let_compile({}, service::Patience::kUntilItAnswers, none) : nullptr;
}

Fetched KernelService::Body::fetch_or_compile(const Request& request, const std::string& identity) {
  if (!may_ask_remote()) {
    ImagePointer image = compile(request);
    std::string path = publish(request, to_entry(request, *image));
    return {service::with_path(std::move(image), std::move(path)), ImageSource::kCompiled};
  }
  service::RemoteFetch fetch(*this, request);
  if (ImagePointer image = fetch.look(identity)) {
    return {std::move(image), ImageSource::kRemote};
  }
  remote::FleetLease lease;
  if (remote->has_leases() && request.origin != service::Origin::kUrgentOrder) {
    ImagePointer image;
    const auto look = [&] {
      image = fetch.look(identity, remote::Counting::kNoMiss);
      return image != nullptr;
    };
    if (remote->take_turn({request.id, identity}, look, lease) == remote::FleetTurn::kFound) {
      return {std::move(image), ImageSource::kRemote};
    }
  }
  if (ImagePointer image = fetch.let_compile(identity, service::Patience::kNone, lease)) {
    return {std::move(image), ImageSource::kRemote};
  }
  return {fetch.keep(compile(request), std::move(lease)), ImageSource::kCompiled};
}

const service::Toolchain::Found& KernelService::Body::require_toolchain(const Request& request) {
  try {
    return toolchain.require(request.traits_text, request.arch.to_string());
  } catch (const CompileError& error) {
    if (!may_ask_remote()) {
      throw;
    }
    std::string message = std::string(error.what()) + "\nNor could it be had from a remote tier:";
    for (const RemoteTierStats& tier : remote->stats()) {
      message += "\n  " + (tier.last_error.empty()
                               ? tier.label + ": it is not there"
                               : "last failure of " + tier.label + ": " + tier.last_error);
    }
    throw CompileError(message, error.details());
  }
}

}  // namespace quantjit
