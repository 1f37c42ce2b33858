// SPDX-License-Identifier: Apache-2.0
#include "tests/support/exposition_reader.hpp"

#include <cmath>
#include <cstdlib>
#include <set>
#include <stdexcept>

namespace quantjit::test {
namespace {

class Reader {
 public:
  std::map<std::string, Family> read(std::string_view text) {
    if (!text.empty() && text.back() != '\n') {
      fail("the last line does not end");
    }
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      line_ = text.substr(0, end);
      text.remove_prefix(end + 1);
      at_ = 0;
      read_line();
    }
    for (const auto& [name, family] : families_) {
      check(name, family);
    }
    return std::move(families_);
  }

 private:
  [[noreturn]] void fail(const std::string& rule) const {
    throw std::runtime_error("\"" + std::string(line_) + "\": " + rule);
  }

  void read_line() {
    if (line_.starts_with("# HELP ")) {
      at_ = 7;
      current_ = name();
      expect(' ');
      if (!families_.try_emplace(current_).second) {
        fail("this family came before");
      }
      families_[current_].help = escaped('\0');
    } else if (line_.starts_with("# TYPE ")) {
      at_ = 7;
      const std::string of = name();
      expect(' ');
      Family& family = families_[of];
      if (of != current_ || !family.type.empty() || !family.samples.empty()) {
        fail("TYPE must follow HELP");
      }
      family.type = line_.substr(at_);
      if (family.type != "counter" && family.type != "gauge" && family.type != "histogram") {
        fail("unknown type");
      }
    } else {
      read_sample();
    }
  }

  void read_sample() {
    Sample sample{.name = name(), .labels = {}};
    if (!belongs(sample.name)) {
      fail("this sample is not of the family before it");
    }
    if (peek() == '{') {
      do {
        ++at_;
        const std::string label = name();
        expect('=');
        expect('"');
        if (!sample.labels.emplace(label, escaped('"')).second) {
          fail("label twice");
        }
        expect('"');
      } while (peek() == ',');
      expect('}');
    }
    expect(' ');
    const std::string number(line_.substr(at_));
    char* end = nullptr;
    sample.value = number == "+Inf" ? INFINITY : std::strtod(number.c_str(), &end);
    if (number.empty() || (end != nullptr && *end != '\0')) {
      fail("not a number");
    }
    if (!seen_.insert({sample.name, sample.labels}).second) {
      fail("this sample came before");
    }
    families_[current_].samples.push_back(std::move(sample));
  }

  bool belongs(const std::string& sample) {
    const auto family = families_.find(current_);
    if (family == families_.end() || family->second.type.empty()) {
      return false;
    }
    if (family->second.type != "histogram") {
      return sample == current_;
    }
    return sample == current_ + "_bucket" || sample == current_ + "_sum" ||
           sample == current_ + "_count";
  }

  [[nodiscard]] char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }

  void expect(char c) {
    if (peek() != c) {
      fail(std::string("expected ") + c + " at column " + std::to_string(at_ + 1));
    }
    ++at_;
  }

  std::string name() {
    const std::size_t start = at_;
    const auto is_first = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    while (is_first(peek()) || (at_ > start && peek() >= '0' && peek() <= '9')) {
      ++at_;
    }
    if (at_ == start) {
      fail("expected a name at column " + std::to_string(at_ + 1));
    }
    return std::string(line_.substr(start, at_ - start));
  }

  /// Up to `end` or the end of the line.
  std::string escaped(char end) {
    std::string text;
    while (at_ < line_.size() && (end == '\0' || line_[at_] != end)) {
      char c = line_[at_++];
      if (c == '\\') {
        const char next = peek();
        if (next != '\\' && next != 'n' && !(next == '"' && end == '"')) {
          fail("unknown escape");
        }
        c = next == 'n' ? '\n' : next;
        ++at_;
      }
      text += c;
    }
    return text;
  }

  void check(const std::string& name, const Family& family) {
    line_ = name;
    if (family.type.empty()) {
      fail("a family without a type");
    }
    if (family.type == "counter") {
      if (!name.ends_with("_total")) {
        fail("a counter is not named so");
      }
      for (const Sample& sample : family.samples) {
        if (!(sample.value >= 0)) {
          fail("a counter is negative");
        }
      }
    }
    if (family.type == "histogram") {
      check_histogram(family);
    }
  }

  void check_histogram(const Family& family) {
    double bound = -INFINITY;
    double total = 0;
    std::size_t i = 0;
    for (; i < family.samples.size() && family.samples[i].name.ends_with("_bucket"); ++i) {
      const Sample& bucket = family.samples[i];
      const std::string& text = bucket.labels.at("le");
      const double next = text == "+Inf" ? INFINITY : std::strtod(text.c_str(), nullptr);
      if (next <= bound || bucket.value < total) {
        fail("buckets do not ascend");
      }
      bound = next;
      total = bucket.value;
    }
    if (i + 2 != family.samples.size() || bound != INFINITY ||
        !family.samples[i].name.ends_with("_sum") || family.samples[i + 1].value != total) {
      fail("no unbounded bucket, or sum or count are wrong");
    }
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::string current_;
  std::map<std::string, Family> families_;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen_;
};

}  // namespace

std::map<std::string, Family> read_exposition(std::string_view text) {
  return Reader().read(text);
}

}  // namespace quantjit::test
