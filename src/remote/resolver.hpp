// SPDX-License-Identifier: Apache-2.0
// Addresses of a host, within a time limit that the system's resolver does not have.
#pragma once

#include "src/remote/deadline.hpp"
#include "src/remote/url.hpp"

#include <memory>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace quantjit::remote {

struct Address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};

struct Addresses {
  std::vector<Address> list;
  std::string error;  ///< one phrase if the list is empty
};

/// Thread safe, also in forked children. Names are looked up by a thread of their own, one at a
/// time; it may outlive this object.
class Resolver {
 public:
  explicit Resolver(Host host);

  [[nodiscard]] Addresses resolve(const Deadline& deadline);
  /// Has the next call ask anew: what is known led nowhere.
  void forget();

 private:
  struct Lookup;

  const Host host_;
  const HomeProcess home_;
  std::shared_ptr<Lookup> lookup_;
};

}  // namespace quantjit::remote
