// SPDX-License-Identifier: Apache-2.0
// Commands to a Redis server and its answers.
#pragma once

#include "src/remote/deadline.hpp"
#include "src/remote/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::remote {

/// An answer of the server, or why there is none.
struct RedisAnswer {
  enum class Kind : std::uint8_t {
    kNone,     ///< no answer that makes sense; the connection is of no more use
    kStatus,   ///< `text`
    kText,     ///< `text`
    kNumber,   ///< `number`
    kNothing,  ///< nil
    kError,    ///< `text` is the code alone, e.g. "OOM": the rest may repeat what was sent
  };

  Kind kind = Kind::kNone;
  std::string text;
  std::int64_t number = 0;
  std::string problem;   ///< one phrase if kNone
  bool hung_up = false;  ///< if kNone: the peer ended the connection
};

/// Not thread safe.
class RedisConnection {
 public:
  explicit RedisConnection(std::unique_ptr<Stream> stream);
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;
  ~RedisConnection();

  /// Sends a command and waits for its answer, of which at most `max_bytes` are read.
  RedisAnswer call(const std::vector<std::string_view>& command, std::size_t max_bytes,
                   const Deadline& deadline);

  /// Whether another call may work: all calls were answered, and the server has sent nothing since.
  [[nodiscard]] bool reusable() const { return in_step_ && stream_->quiet(); }

 private:
  struct Parser;

  RedisAnswer receive(std::size_t max_bytes, const Deadline& deadline);

  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Parser> parser_;
  bool in_step_ = true;
};

/// Version of hiredis.
[[nodiscard]] std::string hiredis_version();

}  // namespace quantjit::remote
