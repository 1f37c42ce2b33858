// SPDX-License-Identifier: Apache-2.0
// HTTP servers that keep what is put to them, and compile services, which are asked alike.
#include "src/base/sha256.hpp"
#include "src/remote/http_transport.hpp"
#include "src/remote/make_backend.hpp"
#include "src/remote/secret_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace quantjit::remote {
namespace {

constexpr std::size_t kNoBody = std::size_t{64} << 10;  // bytes that answers without one may have
constexpr std::size_t kMaxMessage = 300;
/// Statuses of orders that cannot be done, by a service that does others.
constexpr std::array<int, 4> kOfThis{400, 409, 413, 422};
constexpr const char* kOnlyIfAbsent = "If-None-Match: *";

/// What a compile service says was wrong, as one short line; empty if it says nothing.
std::string service_message(const std::string& body, const std::string& secret) {
  const auto document = nlohmann::json::parse(body, nullptr, false);
  if (!document.is_object() || !document.contains("error") || !document["error"].is_object()) {
    return {};
  }
  const auto& error = document["error"];
  const auto found = error.find("message");
  if (found == error.end() || !found->is_string()) {
    return {};
  }
  std::string message = found->get<std::string>().substr(0, kMaxMessage);
  message = message.substr(0, message.find('\n'));
  const bool is_plain = std::all_of(message.begin(), message.end(), [](char character) {
    return character >= 0x20 && character < 0x7f;
  });
  const bool tells = !secret.empty() && message.find(secret) != std::string::npos;
  return is_plain && !tells ? message : std::string();
}

/// What an answer means that is not the expected one.
Reply unexpected(const HttpAnswer& answer) {
  if (answer.status == 0) {
    return {Outcome::kFailed, {}, answer.problem};
  }
  if (answer.status == 404 || answer.status == 410) {
    return {Outcome::kAbsent, {}, {}};
  }
  Reply reply{Outcome::kRefused, {}, "the server answered " + std::to_string(answer.status)};
  if (answer.status < 300) {
    reply.outcome = Outcome::kFailed;
    reply.error += answer.problem.empty() ? "" : ", but " + answer.problem;
  } else if (answer.status >= 500 && answer.status != 507) {
    reply.outcome = Outcome::kFailed;
  }
  reply.busy = answer.status == 429;
  return reply;
}

/// The part that all servers spoken to over HTTP have in common.
class HttpClient : public Backend {
 public:
  HttpClient(const TierSpec& spec, std::size_t index)
      : transport_(spec),
        label_(spec.label(index)),
        secret_(spec.token_file.empty() ? spec.password_file : spec.token_file, spec.password),
        is_token_(!spec.token_file.empty()) {
    const bool tls = spec.scheme == Scheme::kHttps || spec.scheme == Scheme::kServiceTls;
    base_ = (tls ? "https://" : "http://") + spec.hosts.at(index).to_string() + spec.path;
  }

  [[nodiscard]] const std::string& label() const override { return label_; }

 protected:
  [[nodiscard]] const std::string& base() const { return base_; }

  /// `got` receives the answer; false if there is none to be had: then `problem` says why.
  bool ask(HttpRequest request, const Limits& limits, HttpAnswer& got, Reply& problem) {
    const Deadline deadline(limits.timeout);
    const std::size_t own_headers = request.headers.size();
    SecretFile::Secret secret = secret_.get();
    for (const bool again : {false, true}) {
      if (!secret.error.empty()) {
        problem = {Outcome::kRefused, {}, secret.error};
        return false;
      }
      if (is_token_) {
        request.headers.resize(own_headers);
        request.headers.push_back("Authorization: Bearer " + secret.text);
      } else {
        request.password = secret.text;
      }
      got = transport_.run(request, deadline);
      if (got.status != 401 || again || deadline.passed()) {
        break;
      }
      const std::string tried = std::move(secret.text);
      if ((secret = secret_.read_again()).text == tried) {
        break;
      }
    }
    return true;
  }

  /// Requests whose answer's body means nothing.
  Reply tell(HttpRequest request, const Limits& limits, const Reply& done) {
    request.max_bytes = kNoBody;
    HttpAnswer answer;
    Reply problem;
    if (!ask(std::move(request), limits, answer, problem)) {
      return problem;
    }
    // A body that is cut off changes nothing about what the status says.
    return answer.status >= 200 && answer.status < 300 ? done : unexpected(answer);
  }

  Reply fetch(HttpRequest request, const Limits& limits, HttpAnswer& answer) {
    request.max_bytes = limits.max_bytes;
    Reply problem;
    if (!ask(std::move(request), limits, answer, problem)) {
      return problem;
    }
    if (answer.status == 200 && answer.whole) {
      return {Outcome::kFound, std::move(answer.body), {}};
    }
    return unexpected(answer);
  }

  /// As the last ask() sent it.
  [[nodiscard]] std::string secret() { return secret_.get().text; }

 private:
  HttpTransport transport_;
  std::string label_;
  std::string base_;
  SecretFile secret_;
  const bool is_token_;
};

HttpRequest make_request(HttpMethod method, std::string url) {
  HttpRequest request;
  request.method = method;
  request.url = std::move(url);
  return request;
}

/// A server that keeps entries.
class HttpStore : public HttpClient {
 public:
  HttpStore(const TierSpec& spec, std::size_t index)
      : HttpClient(spec, index), layout_(spec.layout) {}

  Reply get(const Name& name, const Limits& limits) override {
    HttpAnswer answer;
    return fetch(make_request(HttpMethod::kGet, url_of(name)), limits, answer);
  }

  Reply put(const Name& name, std::string_view bytes, Overwrite overwrite,
            const Limits& limits) override {
    HttpRequest request = make_request(HttpMethod::kPut, url_of(name));
    request.body = bytes;
    if (overwrite == Overwrite::kReplace) {
      return tell(std::move(request), limits, {Outcome::kFound, {}, {}});
    }
    request.headers.emplace_back(kOnlyIfAbsent);
    Reply reply = tell(std::move(request), limits, {Outcome::kFound, {}, {}});
    if (reply.outcome == Outcome::kRefused && reply.error == "the server answered 412") {
      return {Outcome::kKept, {}, {}};
    }
    return reply;
  }

  Reply head(const Name& name, const Limits& limits) override {
    return tell(make_request(HttpMethod::kHead, url_of(name)), limits, {Outcome::kFound, {}, {}});
  }

  Reply remove(const Name& name, const Limits& limits) override {
    return tell(make_request(HttpMethod::kDelete, url_of(name)), limits, {Outcome::kFound, {}, {}});
  }

 private:
  [[nodiscard]] std::string url_of(const Name& name) const {
    const std::string full = name.request + "-" + name.part;
    return layout_ == Layout::kBazel ? base() + "/ac/" + base::to_hex(base::sha256(full))
                                     : base() + "/" + name.request.substr(0, 2) + "/" + full;
  }

  Layout layout_;
};

/// A compile service: it gives entries out, makes them, and takes none.
class CompileService : public HttpClient {
 public:
  using HttpClient::HttpClient;

  Reply get(const Name& name, const Limits& limits) override {
    HttpAnswer answer;
    return fetch(make_request(HttpMethod::kGet, url_of(name)), limits, answer);
  }

  Reply put(const Name& /*name*/, std::string_view /*bytes*/, Overwrite /*overwrite*/,
            const Limits& /*limits*/) override {
    return {Outcome::kRefused, {}, "a compile service is read only"};
  }

  Reply head(const Name& name, const Limits& limits) override {
    return tell(make_request(HttpMethod::kHead, url_of(name)), limits, {Outcome::kFound, {}, {}});
  }

  Reply remove(const Name& /*name*/, const Limits& /*limits*/) override {
    return {Outcome::kRefused, {}, "a compile service is read only"};
  }

  [[nodiscard]] bool compiles() const override { return true; }

  Reply compile(std::string_view order, const Limits& limits) override {
    HttpRequest request = make_request(HttpMethod::kPost, base() + "/v1/compile");
    request.body = order;
    HttpAnswer answer;
    Reply reply = fetch(std::move(request), limits, answer);
    if (!reply.found() && answer.status >= 400) {
      // Whatever keeps it from compiling, it may still give out what it has.
      reply.outcome = answer.status >= 500 ? Outcome::kRefused : reply.outcome;
      reply.of_this = std::find(kOfThis.begin(), kOfThis.end(), answer.status) != kOfThis.end();
      if (const std::string message = service_message(answer.body, secret()); !message.empty()) {
        reply.error = "the server answered " + std::to_string(answer.status) + ": " + message;
      }
    }
    return reply;
  }

 private:
  /// The part "latest" is the newest that the service has of a request.
  [[nodiscard]] std::string url_of(const Name& name) const {
    return base() + "/v1/entries/" + name.request + (name.part == "latest" ? "" : "-" + name.part);
  }
};

}  // namespace

std::unique_ptr<Backend> make_http_backend(const TierSpec& spec, std::size_t index) {
  if (spec.scheme == Scheme::kService || spec.scheme == Scheme::kServiceTls) {
    return std::make_unique<CompileService>(spec, index);
  }
  return std::make_unique<HttpStore>(spec, index);
}

}  // namespace quantjit::remote
