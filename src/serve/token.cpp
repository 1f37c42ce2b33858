// SPDX-License-Identifier: Apache-2.0
#include "src/serve/token.hpp"

#include "src/base/file.hpp"
#include "src/base/log.hpp"
#include "src/base/sha256.hpp"

#include <quantjit/error.hpp>

#include <optional>
#include <random>
#include <sys/stat.h>

namespace quantjit::serve {
namespace {

constexpr std::chrono::seconds kLookAgain{1};
constexpr std::string_view kBlanks = " \t\r";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_bearer(std::string_view scheme) {
  constexpr std::string_view kBearer = "bearer ";
  if (scheme.size() != kBearer.size()) {
    return false;
  }
  for (std::size_t i = 0; i < scheme.size(); ++i) {
    const char lower =
        scheme[i] >= 'A' && scheme[i] <= 'Z' ? static_cast<char>(scheme[i] + 32) : scheme[i];
    if (lower != kBearer[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

TokenFile::TokenFile(std::string path) : path_(std::move(path)) {
  std::random_device random;
  for (int i = 0; i < 8; ++i) {
    salt_ += std::to_string(random()) + ",";
  }
  if (asks()) {
    stamp_ = stamp();
    looked_ = std::chrono::steady_clock::now();
    tokens_ = read();
    if (tokens_.empty()) {
      throw InvalidArgument("--token-file", "\"" + path_ + "\"",
                            "it must be a readable file that holds a token, or several on a line "
                            "each");
    }
  }
}

bool TokenFile::welcomes(std::string_view authorization) {
  if (!asks()) {
    return true;
  }
  constexpr std::size_t kScheme = 7;
  if (!is_bearer(authorization.substr(0, kScheme))) {
    return false;
  }
  const Digest shown = digest_of(trim(authorization.substr(kScheme)));
  const std::lock_guard lock(mutex_);
  refresh();
  // Digests under a secret salt are compared, all of each and with all: how long it takes tells
  // nothing of the tokens.
  unsigned matches = 0;
  for (const Digest& token : tokens_) {
    unsigned differing = 0;
    for (std::size_t i = 0; i < token.size(); ++i) {
      differing |= static_cast<unsigned>(token[i] ^ shown[i]);
    }
    matches += static_cast<unsigned>(differing == 0);
  }
  return matches != 0;
}

void TokenFile::refresh() {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kLookAgain) {
    return;
  }
  looked_ = now;
  const Stamp current = stamp();
  if (current == stamp_) {
    return;
  }
  stamp_ = current;
  std::vector<Digest> tokens = read();
  if (tokens.empty()) {
    base::log_warn("the token file " + path_ +
                   " cannot be read or is empty; the tokens that it held stay valid");
    return;
  }
  tokens_ = std::move(tokens);
}

TokenFile::Stamp TokenFile::stamp() const {
  struct stat status {};

  if (::stat(path_.c_str(), &status) != 0) {
    return {};
  }
  return {.seconds = status.st_mtim.tv_sec,
          .nanoseconds = status.st_mtim.tv_nsec,
          .size = status.st_size,
          .inode = status.st_ino};
}

std::vector<TokenFile::Digest> TokenFile::read() const {
  std::vector<Digest> tokens;
  const std::optional<std::string> text = base::read_file(path_);
  if (!text) {
    return tokens;
  }
  for (std::size_t start = 0; start < text->size();) {
    const std::size_t end = std::min(text->find('\n', start), text->size());
    const std::string_view token = trim(std::string_view(*text).substr(start, end - start));
    if (!token.empty()) {
      tokens.push_back(digest_of(token));
    }
    start = end + 1;
  }
  return tokens;
}

TokenFile::Digest TokenFile::digest_of(std::string_view token) const {
  const base::Sha256Digest digest =
      base::hmac_sha256(salt_, std::as_bytes(std::span(token.data(), token.size())));
  return {digest.begin(), digest.end()};
}

}  // namespace quantjit::serve
