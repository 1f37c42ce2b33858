// SPDX-License-Identifier: Apache-2.0
// TLS to servers of Redis, where OpenSSL was there at build time.
#pragma once

#include "src/remote/stream.hpp"

#include <memory>
#include <string>

namespace quantjit::remote {

/// What the connections to one host share. Thread safe.
class TlsClient {
 public:
  TlsClient() = default;
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  virtual ~TlsClient() = default;

  /// Shakes hands and checks the server's certificate and name. Null on failure; `error` receives
  /// one phrase.
  [[nodiscard]] virtual std::unique_ptr<Stream> start(Socket socket, const Deadline& deadline,
                                                      std::string& error) const = 0;
};

/// A client that trusts the certificates in `ca_file`, or those of the system if it is empty.
/// Throws: NotImplemented if this build has no OpenSSL; InvalidArgument if the file holds none.
[[nodiscard]] std::unique_ptr<TlsClient> make_tls_client(const std::string& host,
                                                         const std::string& ca_file);

/// Version of OpenSSL; empty if this build has none.
[[nodiscard]] std::string tls_version();

}  // namespace quantjit::remote
