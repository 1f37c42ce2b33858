// SPDX-License-Identifier: Apache-2.0
#include "src/remote/resolver.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <system_error>
#include <thread>
#include <utility>

namespace quantjit::remote {
namespace {

constexpr auto kKeptFor = std::chrono::minutes(1);

Addresses ask(const Host& host, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const std::string port = std::to_string(host.port);
  const int error = ::getaddrinfo(host.name.c_str(), port.c_str(), &hints, &first);
  Addresses result;
  if (error != 0) {
    result.error = std::string("looking the host up: ") + ::gai_strerror(error);
    return result;
  }
  for (const addrinfo* item = first; item != nullptr; item = item->ai_next) {
    Address address;
    address.bytes = std::min<socklen_t>(item->ai_addrlen, sizeof(address.storage));
    std::memcpy(&address.storage, item->ai_addr, address.bytes);
    result.list.push_back(address);
  }
  ::freeaddrinfo(first);
  if (result.list.empty()) {
    result.error = "looking the host up: it has no address";
  }
  return result;
}

/// Keeps the code of this library mapped: a look-up may end after everything else of it is gone.
void stay_loaded() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<const void*>(&stay_loaded), &found) != 0 &&
      found.dli_fname != nullptr) {
    // The handle is given up on purpose.
    static_cast<void>(::dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
  }
}

}  // namespace

struct Resolver::Lookup {
  std::mutex mutex;
  std::condition_variable done;
  bool running = false;  // guarded by mutex, as is all below
  Addresses found;
  Deadline::Clock::time_point found_at{};
};

Resolver::Resolver(Host host) : host_(std::move(host)), lookup_(std::make_shared<Lookup>()) {}

Addresses Resolver::resolve(const Deadline& deadline) {
  if (Addresses numeric = ask(host_, AI_NUMERICHOST); !numeric.list.empty()) {
    return numeric;
  }
  if (home_.left()) {
    return ask(host_, 0);
  }
  std::unique_lock lock(lookup_->mutex);
  if (!lookup_->found.list.empty() && Deadline::Clock::now() - lookup_->found_at < kKeptFor) {
    return lookup_->found;
  }
  if (!lookup_->running) {
    stay_loaded();
    try {
      std::thread([lookup = lookup_, host = host_] {
        Addresses found = ask(host, 0);
        const std::lock_guard finish(lookup->mutex);
        lookup->found = std::move(found);
        lookup->found_at = Deadline::Clock::now();
        lookup->running = false;
        lookup->done.notify_all();
      }).detach();
    } catch (const std::system_error&) {
      return {{}, "looking the host up: no thread could be made"};
    }
    lookup_->running = true;  // the thread needs the lock to end
  }
  if (!lookup_->done.wait_until(lock, deadline.end(), [this] { return !lookup_->running; })) {
    return {{}, "looking the host up took longer than the time limit"};
  }
  return lookup_->found;
}

void Resolver::forget() {
  if (!home_.left()) {
    const std::lock_guard lock(lookup_->mutex);
    lookup_->found = {};
  }
}

}  // namespace quantjit::remote
