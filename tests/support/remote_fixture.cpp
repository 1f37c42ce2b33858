// SPDX-License-Identifier: Apache-2.0
#include "tests/support/remote_fixture.hpp"

#include "tests/support/catch.hpp"

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace quantjit::remote {
namespace {

/// The number behind the kind of a line of Redis's protocol.
std::size_t length_of(const std::string& line) {
  return line.size() < 4 ? 0 : std::strtoul(line.c_str() + 1, nullptr, 10);
}

}  // namespace

Name name_of(char digit, const std::string& part) {
  return {std::string(64, digit), part};
}

Limits generous() {
  return {std::chrono::seconds(60), std::size_t{1} << 20};
}

Limits brief() {
  return {std::chrono::milliseconds(150), std::size_t{1} << 20};
}

std::string to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFound: return "found";
    case Outcome::kAbsent: return "absent";
    case Outcome::kKept: return "kept";
    case Outcome::kRefused: return "refused";
    case Outcome::kFailed: return "failed";
  }
  return "?";
}

std::unique_ptr<Backend> backend_of(const std::string& url) {
  return make_backend(parse_tier(url), 0);
}

Reply in_time(const std::function<Reply()>& call) {
  const auto start = std::chrono::steady_clock::now();
  Reply reply = call();
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
  return reply;
}

int in_child(const std::function<int()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(call());
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

FakeRedis::FakeRedis(Answer answer)
    : answer_(std::move(answer)), server_([this](test::LoopbackConnection& connection, int number) {
        serve(connection, number);
      }) {}

std::string FakeRedis::url(const std::string& user_at, const std::string& rest) const {
  return "redis://" + user_at + "127.0.0.1:" + std::to_string(server_.port()) + rest;
}

std::vector<FakeRedis::Command> FakeRedis::commands() const {
  const std::lock_guard lock(mutex_);
  return commands_;
}

void FakeRedis::serve(test::LoopbackConnection& connection, int number) {
  while (true) {
    Command command(length_of(connection.read_until("\r\n")));
    for (std::string& word : command) {
      word = connection.read_bytes(length_of(connection.read_until("\r\n")));
      static_cast<void>(connection.read_bytes(2));
    }
    if (command.empty()) {
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(command);
    }
    const std::string answer = answer_(command, number);
    if (answer.empty() || !connection.write(answer)) {
      return;
    }
  }
}

FakeHttp::FakeHttp(Answer answer)
    : answer_(std::move(answer)), server_([this](test::LoopbackConnection& connection, int number) {
        serve(connection, number);
      }) {}

std::string FakeHttp::url(const std::string& scheme, const std::string& user_at,
                          const std::string& rest) const {
  return scheme + "://" + user_at + "127.0.0.1:" + std::to_string(server_.port()) + rest;
}

std::vector<FakeHttp::Request> FakeHttp::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeHttp::serve(test::LoopbackConnection& connection, int number) {
  while (true) {
    Request request;
    request.line = connection.read_until("\r\n");
    if (request.line.empty()) {
      return;
    }
    request.line.erase(request.line.rfind(' '));
    for (std::string line; line != "\r\n" && (line.empty() || line.ends_with("\r\n"));) {
      line = connection.read_until("\r\n");
      request.headers += line;
      if (line.empty()) {
        return;
      }
    }
    constexpr std::string_view kLength = "Content-Length: ";
    if (const std::size_t at = request.headers.find(kLength); at != std::string::npos) {
      request.body = connection.read_bytes(
          std::strtoul(request.headers.c_str() + at + kLength.size(), nullptr, 10));
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const std::string answer = answer_(request, number);
    if (answer.empty() || !connection.write(answer)) {
      return;
    }
  }
}

std::string http_answer(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Whatever\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace quantjit::remote
