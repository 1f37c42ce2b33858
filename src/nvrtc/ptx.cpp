// SPDX-License-Identifier: Apache-2.0
// Reading PTX text.
#include "src/nvrtc/inspect.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <charconv>

namespace quantjit::nvrtc {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

/// The text without comments, which could name anything.
std::string without_comments(std::string_view ptx) {
  std::string result;
  result.reserve(ptx.size());
  for (std::size_t at = 0; at < ptx.size() && ptx[at] != '\0';) {
    const std::string_view rest = ptx.substr(at);
    if (rest.starts_with("//")) {
      at += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const auto end = rest.find("*/", 2);
      at += end == std::string_view::npos ? rest.size() : end + 2;
      result += ' ';
    } else {
      result += ptx[at++];
    }
  }
  return result;
}

/// The text between the braces that follow, which may nest; empty if they never close.
std::string_view body_after(std::string_view text) {
  const auto begin = text.find('{');
  int depth = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    depth += text[at] == '{' ? 1 : (text[at] == '}' ? -1 : 0);
    if (depth == 0) {
      return text.substr(begin, at - begin + 1);
    }
  }
  return {};
}

int target_number(std::string_view text) {
  constexpr std::string_view kTarget = ".target";
  const auto directive = text.find(kTarget);
  const auto number_at = directive == std::string_view::npos
                             ? directive
                             : text.find("sm_", directive + kTarget.size());
  int number = 0;
  if (number_at != std::string_view::npos) {
    const char* const begin = text.data() + number_at + 3;
    std::from_chars(begin, text.data() + text.size(), number);
  }
  if (number == 0) {
    throw InvalidArgument("code", "not PTX", "it must be PTX text with a .target line");
  }
  return number;
}

}  // namespace

CodeProperties inspect_ptx(std::string_view ptx) {
  constexpr std::string_view kEntry = ".entry";
  const std::string clean = without_comments(ptx);
  const std::string_view text = clean;
  CodeProperties result;
  result.sm = target_number(text);
  for (auto at = text.find(kEntry); at != std::string_view::npos; at = text.find(kEntry, at)) {
    at += kEntry.size();
    const auto begin = text.find_first_not_of(kBlanks, at);
    const auto end = text.find_first_of(" \t\r\n({", begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) {
      break;
    }
    EntryPoint entry;
    entry.name = text.substr(begin, end - begin);
    const auto body = body_after(text.substr(end));
    entry.dependency_wait = body.find("griddepcontrol.wait") != std::string_view::npos;
    result.entries.push_back(std::move(entry));
    at = end;
  }
  return result;
}

}  // namespace quantjit::nvrtc
