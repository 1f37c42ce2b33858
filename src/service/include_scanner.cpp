// SPDX-License-Identifier: Apache-2.0
#include "src/service/kernel_sources.hpp"

#include <quantjit/error.hpp>

#include <cctype>

namespace quantjit::service {
namespace {

/// `text` with line splices joined, comments as one blank and the content of literals kept.
/// Newlines survive, also those inside comments and splices, so that line numbers stay right.
std::string without_comments(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t i = 0;
  const auto at = [&](std::size_t k) { return i + k < text.size() ? text[i + k] : '\0'; };
  char quote = '\0';
  while (i < text.size()) {
    if (at(0) == '\\' && at(1) == '\n') {
      i += 2;
      continue;
    }
    if (quote != '\0') {
      if (at(0) == '\\' && at(1) != '\0') {
        out += text[i++];
      } else if (at(0) == quote || at(0) == '\n') {
        quote = '\0';
      }
      out += text[i++];
    } else if (at(0) == '/' && at(1) == '/') {
      while (i < text.size() && text[i] != '\n') {
        i += at(0) == '\\' && at(1) == '\n' ? 2 : 1;
      }
    } else if (at(0) == '/' && at(1) == '*') {
      const std::size_t end = text.find("*/", i + 2);
      const std::size_t stop = end == std::string_view::npos ? text.size() : end + 2;
      out += ' ';
      for (; i < stop; ++i) {
        if (text[i] == '\n') {
          out += '\n';
        }
      }
    } else {
      const bool is_digit_separator =
          at(0) == '\'' && i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0;
      if (at(0) == '"' || (at(0) == '\'' && !is_digit_separator)) {
        quote = text[i];
      }
      out += text[i++];
    }
  }
  return out;
}

std::string_view skip_blanks(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t\v\f\r");
  return start == std::string_view::npos ? std::string_view{} : line.substr(start);
}

[[noreturn]] void refuse(const std::string& path, std::size_t line, const std::string& why) {
  throw CompileError("kernel source " + path + ":" + std::to_string(line) + " " + why +
                         "; write #include \"path/from/the/include/root\"",
                     {});
}

}  // namespace

std::vector<std::string> included_paths(std::string_view text, const std::string& path) {
  const std::string code = without_comments(text);
  std::vector<std::string> paths;
  std::size_t line_number = 0;
  for (std::size_t start = 0; start < code.size();) {
    const std::size_t end = std::min(code.find('\n', start), code.size());
    std::string_view line = skip_blanks(std::string_view(code).substr(start, end - start));
    start = end + 1;
    ++line_number;
    if (!line.starts_with('#')) {
      continue;
    }
    line = skip_blanks(line.substr(1));
    for (const std::string_view other : {"include_next", "import", "embed"}) {
      if (line.starts_with(other)) {
        refuse(path, line_number, "uses #" + std::string(other));
      }
    }
    if (!line.starts_with("include")) {
      continue;
    }
    line = skip_blanks(line.substr(std::string_view("include").size()));
    const std::size_t close = line.starts_with('"') ? line.find('"', 1) : std::string_view::npos;
    if (close == std::string_view::npos) {
      refuse(path, line_number,
             line.starts_with('<') ? "includes a header by angle brackets"
                                   : "includes a file by a macro");
    }
    paths.emplace_back(line.substr(1, close - 1));
  }
  return paths;
}

}  // namespace quantjit::service
