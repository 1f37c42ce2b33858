// SPDX-License-Identifier: Apache-2.0
// hiredis formats commands and parses answers here. Its own connections are not used: they look
// hosts up without a time limit, write to sockets in a way that raises SIGPIPE, and have TLS only
// from version 1.0 on.
#include "src/remote/redis_connection.hpp"

#include <array>
#include <hiredis/hiredis.h>
#include <new>
#include <utility>

namespace quantjit::remote {
namespace {

// What an answer may have beside its text.
constexpr std::size_t kFraming = std::size_t{4} << 10;
constexpr std::size_t kChunk = std::size_t{64} << 10;

struct FreeReader {
  void operator()(redisReader* reader) const { redisReaderFree(reader); }
};

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};

struct FreeCommand {
  void operator()(char* command) const { redisFreeCommand(command); }
};

RedisAnswer no_answer(std::string problem, bool hung_up = false) {
  RedisAnswer answer;
  answer.problem = std::move(problem);
  answer.hung_up = hung_up;
  return answer;
}

/// The first word of an error, if it looks like a code.
std::string error_code(std::string_view text) {
  const std::string_view word = text.substr(0, std::min<std::size_t>(text.find(' '), 20));
  const bool is_code = !word.empty() && word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
                                            std::string_view::npos;
  if (text.starts_with("ERR max number of clients")) {
    return "MAXCLIENTS";
  }
  return is_code ? std::string(word) : "ERR";
}

RedisAnswer to_answer(const redisReply& reply) {
  const std::string_view text =
      reply.str == nullptr ? std::string_view()
                           : std::string_view(reply.str, static_cast<std::size_t>(reply.len));
  RedisAnswer answer;
  switch (reply.type) {
    case REDIS_REPLY_STATUS:
      answer.kind = RedisAnswer::Kind::kStatus;
      answer.text = text;
      return answer;
    case REDIS_REPLY_STRING:
      answer.kind = RedisAnswer::Kind::kText;
      answer.text = text;
      return answer;
    case REDIS_REPLY_INTEGER:
      answer.kind = RedisAnswer::Kind::kNumber;
      answer.number = reply.integer;
      return answer;
    case REDIS_REPLY_NIL: answer.kind = RedisAnswer::Kind::kNothing; return answer;
    case REDIS_REPLY_ERROR:
      answer.kind = RedisAnswer::Kind::kError;
      answer.text = error_code(text);
      return answer;
    default: return no_answer("the server's answer makes no sense");
  }
}

}  // namespace

struct RedisConnection::Parser {
  std::unique_ptr<redisReader, FreeReader> reader{redisReaderCreate()};
  std::size_t fed = 0;  ///< bytes since the last whole answer

  Parser() {
    if (!reader) {
      throw std::bad_alloc();
    }
  }
};

RedisConnection::RedisConnection(std::unique_ptr<Stream> stream)
    : stream_(std::move(stream)), parser_(std::make_unique<Parser>()) {}

RedisConnection::~RedisConnection() = default;

RedisAnswer RedisConnection::call(const std::vector<std::string_view>& command,
                                  std::size_t max_bytes, const Deadline& deadline) {
  std::vector<const char*> words;
  std::vector<std::size_t> lengths;
  for (const std::string_view word : command) {
    words.push_back(word.data());
    lengths.push_back(word.size());
  }
  char* formatted = nullptr;
  const auto bytes = redisFormatCommandArgv(&formatted, static_cast<int>(words.size()),
                                            words.data(), lengths.data());
  const std::unique_ptr<char, FreeCommand> owner(formatted);
  if (bytes < 0) {
    throw std::bad_alloc();
  }
  in_step_ = false;
  if (!stream_->send({formatted, static_cast<std::size_t>(bytes)}, deadline)) {
    return no_answer(stream_->error(), stream_->hung_up());
  }
  RedisAnswer answer = receive(max_bytes, deadline);
  in_step_ = answer.kind != RedisAnswer::Kind::kNone;
  return answer;
}

RedisAnswer RedisConnection::receive(std::size_t max_bytes, const Deadline& deadline) {
  redisReader& reader = *parser_->reader;
  std::vector<char> chunk(kChunk);
  std::size_t received = 0;
  while (true) {
    const std::size_t got = stream_->receive(chunk, deadline);
    if (got == 0) {
      return no_answer(stream_->error(), stream_->hung_up());
    }
    // No command used here is answered by a list: a length of one could make hiredis allocate it.
    constexpr std::string_view kKinds = "+-:$";
    if (received == 0 && kKinds.find(chunk.front()) == std::string_view::npos) {
      return no_answer("the server does not speak as Redis does");
    }
    received += got;
    if (received > max_bytes && received - max_bytes > kFraming) {
      return no_answer("the server's answer is longer than what is read");
    }
    if (redisReaderFeed(&reader, chunk.data(), got) != REDIS_OK) {
      throw std::bad_alloc();
    }
    void* parsed = nullptr;
    if (redisReaderGetReply(&reader, &parsed) != REDIS_OK) {
      return no_answer("the server does not speak as Redis does");
    }
    if (const std::unique_ptr<redisReply, FreeReply> reply(static_cast<redisReply*>(parsed));
        reply) {
      if (reader.pos != reader.len) {
        return no_answer("the server answered more than it was asked");
      }
      return to_answer(*reply);
    }
  }
}

std::string hiredis_version() {
  return std::to_string(HIREDIS_MAJOR) + "." + std::to_string(HIREDIS_MINOR) + "." +
         std::to_string(HIREDIS_PATCH);
}

}  // namespace quantjit::remote
