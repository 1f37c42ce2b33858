// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/frame.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unistd.h>

namespace quantjit::cli {
namespace {

constexpr std::uint32_t kLongest = std::uint32_t{64} << 20U;

bool write_all(int descriptor, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, data, size);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int descriptor, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(descriptor, data, size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    data += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

bool write_frame(int descriptor, std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string frame(sizeof(size), '\0');
  std::memcpy(frame.data(), &size, sizeof(size));
  frame += message;
  return message.size() <= kLongest && write_all(descriptor, frame.data(), frame.size());
}

std::optional<std::string> read_frame(int descriptor) {
  std::uint32_t size = 0;
  char header[sizeof(size)];
  if (!read_all(descriptor, header, sizeof(header))) {
    return std::nullopt;
  }
  std::memcpy(&size, header, sizeof(size));
  if (size > kLongest) {
    return std::nullopt;
  }
  std::string message(size, '\0');
  if (!read_all(descriptor, message.data(), message.size())) {
    return std::nullopt;
  }
  return message;
}

}  // namespace quantjit::cli
