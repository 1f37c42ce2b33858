// SPDX-License-Identifier: Apache-2.0
#include "src/remote/sigpipe.hpp"
#include "src/remote/tls.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <climits>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <poll.h>

namespace quantjit::remote {
namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

struct FreeConnection {
  void operator()(SSL* connection) const { SSL_free(connection); }
};

using Context = std::unique_ptr<SSL_CTX, FreeContext>;
using Connection = std::unique_ptr<SSL, FreeConnection>;

enum class Step { kDone, kWait, kFailed };

class TlsStream : public Stream {
 public:
  TlsStream(Socket socket, Connection connection)
      : socket_(std::move(socket)), connection_(std::move(connection)) {}

  bool shake_hands(const Deadline& deadline) {
    const bool done =
        repeat("the TLS handshake", deadline, [&] { return SSL_connect(connection_.get()); }) > 0;
    if (const long verdict = SSL_get_verify_result(connection_.get());
        !done && verdict != X509_V_OK) {
      fail(std::string("the server's certificate: ") + X509_verify_cert_error_string(verdict));
    }
    return done;
  }

  bool send(std::string_view bytes, const Deadline& deadline) override {
    while (!bytes.empty()) {
      const int some = static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX));
      const int done = repeat("sending", deadline,
                              [&] { return SSL_write(connection_.get(), bytes.data(), some); });
      if (done <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return true;
  }

  std::size_t receive(std::span<char> into, const Deadline& deadline) override {
    const int some = static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX));
    const int got = repeat("receiving", deadline,
                           [&] { return SSL_read(connection_.get(), into.data(), some); });
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }

  [[nodiscard]] bool quiet() const override {
    pollfd item{socket_.get(), POLLIN, 0};
    return SSL_pending(connection_.get()) == 0 && ::poll(&item, 1, 0) == 0;
  }

 private:
  /// Calls until it is done; what it returned last.
  template <typename Call>
  int repeat(const char* doing, const Deadline& deadline, Call call) {
    const SigpipeBlock no_signal;
    while (!deadline.passed()) {
      ERR_clear_error();
      const int result = call();
      if (result > 0) {
        return result;
      }
      const int reason = SSL_get_error(connection_.get(), result);
      if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) {
        fail_hung_up(reason == SSL_ERROR_SSL ? std::string(doing) + ": a TLS error"
                                             : "the server closed the connection");
        return 0;
      }
      static_cast<void>(socket_.wait(reason == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline));
    }
    fail_timed_out();
    return 0;
  }

  Socket socket_;
  Connection connection_;
};

class OpensslClient : public TlsClient {
 public:
  OpensslClient(std::string host, const std::string& ca_file)
      : host_(std::move(host)), context_(SSL_CTX_new(TLS_client_method())) {
    if (!context_) {
      throw std::bad_alloc();
    }
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_mode(context_.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    const int loaded =
        ca_file.empty() ? SSL_CTX_set_default_verify_paths(context_.get())
                        : SSL_CTX_load_verify_locations(context_.get(), ca_file.c_str(), nullptr);
    ERR_clear_error();
    if (loaded != 1) {
      throw InvalidArgument("the ca of a remote tier", "'" + ca_file + "'",
                            "it must be a readable file of PEM certificates");
    }
  }

  std::unique_ptr<Stream> start(Socket socket, const Deadline& deadline,
                                std::string& error) const override {
    Connection connection(SSL_new(context_.get()));
    if (!connection || SSL_set_fd(connection.get(), socket.get()) != 1 ||
        !expect_host(connection.get())) {
      error = "TLS could not be set up";
      return nullptr;
    }
    auto stream = std::make_unique<TlsStream>(std::move(socket), std::move(connection));
    if (!stream->shake_hands(deadline)) {
      error = stream->error();
      return nullptr;
    }
    return stream;
  }

 private:
  [[nodiscard]] bool expect_host(SSL* connection) const {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), host_.c_str()) == 1) {
      return true;
    }
    ERR_clear_error();
    return SSL_set1_host(connection, host_.c_str()) == 1 &&
           SSL_set_tlsext_host_name(connection, host_.c_str()) == 1;
  }

  std::string host_;
  Context context_;
};

}  // namespace

std::unique_ptr<TlsClient> make_tls_client(const std::string& host, const std::string& ca_file) {
  return std::make_unique<OpensslClient>(host, ca_file);
}

std::string tls_version() {
  return OpenSSL_version(OPENSSL_VERSION_STRING);
}

}  // namespace quantjit::remote
