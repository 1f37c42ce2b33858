// SPDX-License-Identifier: Apache-2.0
#include "src/serve/source_text.hpp"

#include "src/serve/reply.hpp"

#include <algorithm>
#include <initializer_list>

namespace quantjit::serve {
namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";

/// The text with every line splice taken out, also one with blanks behind its backslash, which some
/// compilers take for one.
std::string joined_lines(std::string_view text) {
  std::string joined;
  joined.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      const std::size_t next = text.find_first_not_of(kBlanks, i + 1);
      if (next != std::string_view::npos && text[next] == '\n') {
        i = next;
        continue;
      }
    }
    joined += text[i];
  }
  return joined;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_path_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

/// `include "path"`, and nothing behind it. The path is relative and has no part that begins with a
/// dot.
bool is_plain_include(std::string_view directive) {
  constexpr std::string_view kInclude = "include";
  if (!directive.starts_with(kInclude)) {
    return false;
  }
  directive.remove_prefix(kInclude.size());
  directive.remove_prefix(std::min(directive.find_first_not_of(kBlanks), directive.size()));
  const std::size_t close =
      directive.starts_with('"') ? directive.find('"', 1) : std::string_view::npos;
  if (close == std::string_view::npos ||
      directive.find_first_not_of(kBlanks, close + 1) != std::string_view::npos) {
    return false;
  }
  const std::string_view path = directive.substr(1, close - 1);
  return !path.empty() && path.front() != '/' && path.front() != '.' && !contains(path, "/.") &&
         !contains(path, "//") && std::all_of(path.begin(), path.end(), is_path_character);
}

/// What is wrong with a line; empty if nothing is.
std::string problem_of(std::string_view line) {
  for (const std::string_view word :
       {std::string_view("%:"), std::string_view("\?\?"), std::string_view("R\""),
        std::string_view("__has_include"), std::string_view("__has_embed")}) {
    if (contains(line, word)) {
      return "has " + std::string(word) + ", which sources of clients may not have";
    }
  }
  const std::size_t hash = line.find('#');
  if (hash == std::string_view::npos) {
    return {};
  }
  const std::string_view behind = line.substr(hash + 1);
  if (contains(behind, "/*")) {
    return "has a comment within a directive, where sources of clients may not have one";
  }
  const bool includes =
      contains(behind, "include") || contains(behind, "import") || contains(behind, "embed");
  const std::size_t start = std::min(behind.find_first_not_of(kBlanks), behind.size());
  const bool alone = line.find_first_not_of(kBlanks) == hash;
  if (includes && !(alone && is_plain_include(behind.substr(start)))) {
    return "must include by #include \"path/from/the/include/root\", alone on its line";
  }
  return {};
}

}  // namespace

void check_source_text(std::string_view text, const std::string& path) {
  const auto refuse = [&path](std::size_t line, const std::string& problem) {
    throw Refusal(
        400, "InvalidArgument",
        "the source " + path.substr(0, 128) + " in line " + std::to_string(line) + " " + problem);
  };
  if (contains(text, std::string_view("\0", 1))) {
    refuse(1, "or behind it has a zero byte");
  }
  const std::string joined = joined_lines(text);
  std::size_t number = 0;
  for (std::size_t start = 0; start < joined.size();) {
    const std::size_t end = std::min(joined.find('\n', start), joined.size());
    ++number;
    if (const std::string problem = problem_of(std::string_view(joined).substr(start, end - start));
        !problem.empty()) {
      refuse(number, problem);
    }
    start = end + 1;
  }
}

}  // namespace quantjit::serve
