// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quantjit::serve {

/// Where a service listens.
struct Address {
  std::string host;  ///< name or number; without the brackets of IPv6
  std::string port;
};

/// Reads HOST:PORT or [HOST]:PORT. Throws: InvalidArgument.
[[nodiscard]] Address parse_address(std::string_view text);

/// A listening socket.
struct Listener {
  int socket = -1;
  std::string address;  ///< HOST:PORT that it is bound to, in numbers
  unsigned port = 0;
  bool loopback = false;  ///< only this machine reaches it
};

/// Throws: Error naming the address and the reason.
[[nodiscard]] Listener listen_on(const Address& address);

}  // namespace quantjit::serve
