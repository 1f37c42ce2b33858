// SPDX-License-Identifier: Apache-2.0
#include "src/models/ignore.hpp"

#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <cstddef>

namespace quantjit::models {
namespace {

constexpr std::string_view kModel = "model.";
constexpr std::string_view kRegex = "re:";
constexpr std::size_t kMostPatterns = 1000;

std::string_view without_model(std::string_view path) {
  return path.substr(0, kModel.size()) == kModel ? path.substr(kModel.size()) : path;
}

/// Whether `text` matches `pattern`, in which "*" stands for any characters.
bool glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

/// Calls `test` with every run of whole components until one returns true.
template <class Test>
bool any_run(std::string_view path, const Test& test) {
  for (std::size_t begin = 0;; ++begin) {
    for (std::size_t end = begin;; ++end) {
      end = std::min(path.find('.', end), path.size());
      if (test(path.substr(begin, end - begin))) {
        return true;
      }
      if (end == path.size()) {
        break;
      }
    }
    begin = path.find('.', begin);
    if (begin == std::string_view::npos) {
      return false;
    }
  }
}

}  // namespace

IgnoreList::IgnoreList(const std::vector<std::string>& entries,
                       std::vector<std::string>& warnings) {
  for (const std::string& entry : entries) {
    if (patterns_.size() + wildcards_.size() > kMostPatterns) {
      throw InvalidArgument("ignored modules", "more than 1000 patterns",
                            R"(a config has at most 1000 entries with "re:" or "*")");
    }
    if (entry.rfind(kRegex, 0) == 0) {
      if (auto pattern = Pattern::compile(std::string_view(entry).substr(kRegex.size()))) {
        patterns_.push_back(std::move(*pattern));
      } else {
        warnings.push_back("the ignored module " + traits::quote(entry) +
                           " is a regular expression beyond what is understood here; it is taken "
                           "to match nothing");
      }
    } else if (entry.find('*') != std::string::npos) {
      wildcards_.emplace_back(without_model(entry));
    } else if (!entry.empty()) {
      names_.emplace(without_model(entry));
    }
  }
}

bool IgnoreList::matches(std::string_view path) const {
  const std::string_view bare = without_model(path);
  for (const Pattern& pattern : patterns_) {
    if (pattern.matches(path) || pattern.matches(bare)) {
      return true;
    }
  }
  if (names_.empty() && wildcards_.empty()) {
    return false;
  }
  return any_run(bare, [this](std::string_view run) {
    if (names_.count(std::string(run)) != 0) {
      return true;
    }
    for (const std::string& wildcard : wildcards_) {
      if (glob(wildcard, run)) {
        return true;
      }
    }
    return false;
  });
}

}  // namespace quantjit::models
