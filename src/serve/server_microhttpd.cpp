// SPDX-License-Identifier: Apache-2.0
// One thread of libmicrohttpd does all of the network's work. A request that needs more than its
// head and body rests (its connection is suspended) until an answer is found on another thread.
#include "src/base/log.hpp"
#include "src/serve/address.hpp"
#include "src/serve/connections.hpp"
#include "src/serve/dispatcher.hpp"
#include "src/serve/exchange.hpp"
#include "src/serve/http_head.hpp"
#include "src/serve/report.hpp"
#include "src/serve/server.hpp"
#include "src/serve/token.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <microhttpd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace quantjit::serve {
namespace {

/// What is read of a body that is too long, so that the client gets to read why it is refused.
constexpr std::size_t kDiscarded = std::size_t{1} << 20U;
/// Head of a request and pieces of its body.
constexpr std::size_t kConnectionBytes = std::size_t{16} << 10U;
constexpr std::chrono::milliseconds kDrainPoll{5};
/// For clients that keep their connection and ask again.
constexpr std::chrono::seconds kGoodbye{1};
/// For answers of what was given up.
constexpr std::chrono::seconds kLastWords{2};

void log_line(void*, const char* format, va_list arguments) {
  if (base::log_enabled(base::LogLevel::kDebug)) {
    char text[512];
    if (std::vsnprintf(text, sizeof(text), format, arguments) > 0) {
      base::log_debug(std::string("http: ") + text);
    }
  }
}

}  // namespace

std::string http_server_version() {
  return MHD_get_version();
}

class Server::Impl {
 public:
  Impl(KernelService& service, Options options)
      : service_(service),
        options_(checked(std::move(options))),
        token_(options_.token_file),
        listener_(listen_on(parse_address(options_.listen))),
        connections_(options_.max_connections, options_.client_timeout),
        dispatcher_(service, options_, counters_) {
    if (!listener_.loopback && !token_.asks() && !options_.no_token) {
      ::close(listener_.socket);
      throw InvalidArgument("--listen", "\"" + options_.listen + "\"",
                            "others reach this address; give their token with --token-file, or "
                            "say --no-token");
    }
    daemon_ = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, nullptr,
        nullptr, &Impl::on_request, this, MHD_OPTION_EXTERNAL_LOGGER, &log_line, nullptr,
        MHD_OPTION_LISTEN_SOCKET, listener_.socket, MHD_OPTION_CONNECTION_LIMIT,
        options_.max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, &Impl::on_connection, this,
        MHD_OPTION_NOTIFY_COMPLETED, &Impl::on_completed, this, MHD_OPTION_END);
    if (daemon_ == nullptr) {
      ::close(listener_.socket);
      throw Error("the HTTP server cannot be started on " + listener_.address);
    }
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    static_cast<void>(drain(std::chrono::milliseconds(0)));
    while (daemon_ != nullptr) {
      std::this_thread::sleep_for(kDrainPoll);
      stop_if_nobody_works();
    }
  }

  [[nodiscard]] const Listener& listener() const { return listener_; }

  [[nodiscard]] int jobs() const { return dispatcher_.jobs(); }

  std::size_t drain(std::chrono::milliseconds limit) {
    if (daemon_ == nullptr) {
      return 0;
    }
    draining_ = true;
    const auto deadline = Clock::now() + limit;
    wait_until_quiet(deadline);
    say_goodbye(std::min(deadline, Clock::now() + kGoodbye));
    dispatcher_.close(error_reply(503, "Draining", "this service ended before it was done"));
    take_the_rest();
    wait_until_quiet(std::max(deadline, Clock::now() + kLastWords));
    stop_if_nobody_works();
    return dispatcher_.load().running + connections_.census().working;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Pointer = std::shared_ptr<Exchange>;

  // What libmicrohttpd calls, on its thread.

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url,
                               const char* method, const char*, const char* data, std::size_t* size,
                               void** state) {
    try {
      return static_cast<Impl*>(self)->request(connection, url, method, data, size, state);
    } catch (const std::exception& error) {  // out of memory
      base::log_warn(std::string("a request is dropped: ") + error.what());
      return MHD_NO;
    }
  }

  static void on_connection(void* self, MHD_Connection* connection, void**,
                            MHD_ConnectionNotificationCode code) {
    Connections& connections = static_cast<Impl*>(self)->connections_;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      const MHD_ConnectionInfo* const info =
          MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
      connections.opened(connection, info->connect_fd);
    } else {
      connections.closed(connection);
    }
  }

  static void on_completed(void* self, MHD_Connection* connection, void** state,
                           MHD_RequestTerminationCode code) {
    static_cast<Impl*>(self)->completed(connection, static_cast<Pointer*>(*state), code);
    *state = nullptr;
  }

  MHD_Result request(MHD_Connection* connection, std::string_view url, std::string_view method,
                     const char* data, std::size_t* size, void** state) {
    if (*state == nullptr) {
      auto* const pointer = new Pointer(std::make_shared<Exchange>(route_request(method, url)));
      *state = pointer;
      connections_.enter(connection, Phase::kBody);
      (*pointer)->reply = refuse_by_head(connection, **pointer);
      // A client that is still sending would not read an answer, unless it has very much to send or
      // nobody knows how much.
      const bool at_once =
          (*pointer)->reply && (has_two_lengths(connection) ||
                                content_length(connection) > options_.max_request + kDiscarded);
      return at_once ? send(connection, **pointer, *(*pointer)->reply) : MHD_YES;
    }
    const Pointer& exchange = *static_cast<Pointer*>(*state);
    if (*size > 0) {
      return take_body(*exchange, data, size);
    }
    if (exchange->reply) {
      return send(connection, *exchange, *exchange->reply);
    }
    return answer(connection, exchange);
  }

  void completed(MHD_Connection* connection, const Pointer* exchange,
                 MHD_RequestTerminationCode code) {
    connections_.enter(connection, Phase::kHead);
    if (exchange == nullptr) {
      return;
    }
    const Exchange& of = **exchange;
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK && of.reply) {
      counters_.answered(of.route, of.reply->status,
                         std::chrono::duration<double>(Clock::now() - of.begin).count());
    } else {
      counters_.lost.fetch_add(1, std::memory_order_relaxed);
    }
    delete exchange;
  }

  /// What the head of a request is enough to refuse.
  std::optional<Reply> refuse_by_head(MHD_Connection* connection, const Exchange& exchange) {
    if (has_two_lengths(connection)) {
      Reply reply = error_reply(400, "BadRequest", "the request tells its length twice");
      reply.headers.emplace_back(MHD_HTTP_HEADER_CONNECTION, "close");
      return reply;
    }
    const bool open = exchange.route == Route::kHealth ||
                      (exchange.route == Route::kMetrics && options_.open_metrics);
    const char* const shown = header(connection, MHD_HTTP_HEADER_AUTHORIZATION);
    if (!open && !token_.welcomes(shown != nullptr ? shown : "")) {
      Reply reply = error_reply(401, "Unauthorized",
                                "this service asks for a token: Authorization: Bearer TOKEN");
      reply.headers.emplace_back("WWW-Authenticate", "Bearer");
      return reply;
    }
    if (std::optional<Reply> refused = refuse_by_route(exchange)) {
      return refused;
    }
    if (content_length(connection) > options_.max_request) {
      return too_long_reply(options_.max_request);
    }
    return std::nullopt;
  }

  MHD_Result take_body(Exchange& exchange, const char* data, std::size_t* size) const {
    exchange.received += *size;
    if (exchange.received > options_.max_request + kDiscarded) {
      return MHD_NO;
    }
    if (exchange.received > options_.max_request && !exchange.reply) {
      exchange.reply = too_long_reply(options_.max_request);
    }
    if (!exchange.reply) {
      exchange.body.append(data, *size);
    }
    *size = 0;
    return MHD_YES;
  }

  MHD_Result answer(MHD_Connection* connection, const Pointer& exchange) {
    switch (exchange->route) {
      case Route::kHealth: return send(connection, *exchange, health());
      case Route::kMetrics:
        return send(connection, *exchange,
                    text_reply("text/plain; version=0.0.4; charset=utf-8", metrics_text(state())));
      case Route::kStatus:
        return send(connection, *exchange, text_reply("application/json", status_json(state())));
      default: break;
    }
    if (exchange->route == Route::kCompile && draining_) {
      return send(connection, *exchange,
                  error_reply(503, "Draining", "this service is about to end; ask another one"));
    }
    // From here on the exchange and the connection belong to whoever answers, until it is resumed.
    connections_.enter(connection, Phase::kWork);
    MHD_suspend_connection(connection);
    const auto done = [connection, exchange](const Reply& reply) {
      exchange->reply = reply;
      MHD_resume_connection(connection);
    };
    if (exchange->route == Route::kCompile) {
      dispatcher_.compile(std::move(exchange->body), done);
    } else {
      dispatcher_.read(exchange->key, done);
    }
    return MHD_YES;
  }

  MHD_Result send(MHD_Connection* connection, Exchange& exchange, Reply reply) {
    exchange.reply = std::move(reply);
    const Reply& sent = *exchange.reply;
    connections_.enter(connection, Phase::kReply);
    // The exchange keeps the bytes until the last one is sent. libmicrohttpd only reads them.
    MHD_Response* const response = MHD_create_response_from_buffer(
        sent.body->size(), const_cast<char*>(sent.body->data()), MHD_RESPMEM_PERSISTENT);
    if (response == nullptr) {
      return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, sent.type.c_str());
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : sent.headers) {
      MHD_add_response_header(response, name.c_str(), value.c_str());
    }
    if (draining_) {
      MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    }
    const MHD_Result queued = MHD_queue_response(connection, sent.status, response);
    MHD_destroy_response(response);
    return queued;
  }

  [[nodiscard]] Reply health() const {
    Reply reply = text_reply("text/plain; charset=utf-8", draining_ ? "draining\n" : "ok\n");
    reply.status = draining_ ? 503 : 200;
    return reply;
  }

  [[nodiscard]] State state() const {
    return {.service = service_,
            .options = options_,
            .counters = counters_,
            .connections = connections_.census(),
            .queue = dispatcher_.load(),
            .jobs = dispatcher_.jobs(),
            .draining = draining_,
            .uptime_s = std::chrono::duration<double>(Clock::now() - begin_).count()};
  }

  /// libmicrohttpd must not end under a request that somebody may yet answer.
  void stop_if_nobody_works() {
    if (connections_.census().working == 0) {
      connections_.end_idle();
      MHD_stop_daemon(daemon_);
      daemon_ = nullptr;
    }
  }

  /// Until no request is under way and no byte of one is unread.
  void wait_until_quiet(Clock::time_point deadline) const {
    while (connections_.census().busy > 0 && Clock::now() < deadline) {
      std::this_thread::sleep_for(kDrainPoll);
    }
  }

  /// Whoever keeps a connection may be about to ask on it: an answer tells them to go, which a
  /// connection that just ends does not. Those who stay silent are not waited for long.
  void say_goodbye(Clock::time_point deadline) const {
    while (connections_.census().open > 0 && Clock::now() < deadline) {
      std::this_thread::sleep_for(kDrainPoll);
    }
  }

  /// Closes the listening socket without losing who is connected to it already.
  void take_the_rest() {
    const MHD_socket socket = MHD_quiesce_daemon(daemon_);
    if (socket == MHD_INVALID_SOCKET) {
      return;
    }
    const std::uint64_t before = connections_.census().opened;
    std::uint64_t taken = 0;
    for (;;) {
      sockaddr_storage address{};
      socklen_t size = sizeof(address);
      auto* const generic = reinterpret_cast<sockaddr*>(&address);
      const int client = ::accept4(socket, generic, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (client < 0) {
        break;
      }
      taken += MHD_add_connection(daemon_, client, generic, size) == MHD_YES ? 1U : 0U;
    }
    ::close(socket);
    const auto deadline = Clock::now() + kLastWords;
    while (connections_.census().opened < before + taken && Clock::now() < deadline) {
      std::this_thread::sleep_for(kDrainPoll);
    }
  }

  KernelService& service_;
  const Options options_;
  Counters counters_;
  TokenFile token_;
  const Listener listener_;
  const Clock::time_point begin_ = Clock::now();
  std::atomic<bool> draining_{false};
  Connections connections_;
  Dispatcher dispatcher_;
  MHD_Daemon* daemon_ = nullptr;
};

Server::Server(KernelService& service, Options options)
    : impl_(std::make_unique<Impl>(service, std::move(options))) {}

Server::~Server() = default;

const std::string& Server::address() const {
  return impl_->listener().address;
}

unsigned Server::port() const {
  return impl_->listener().port;
}

int Server::jobs() const {
  return impl_->jobs();
}

std::size_t Server::drain(std::chrono::milliseconds limit) {
  return impl_->drain(limit);
}

}  // namespace quantjit::serve
