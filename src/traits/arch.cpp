// SPDX-License-Identifier: Apache-2.0
#include "src/traits/quote.hpp"

#include <quantjit/arch.hpp>
#include <quantjit/error.hpp>

#include <algorithm>
#include <cstddef>

namespace quantjit {

namespace {

constexpr std::string_view kPrefix = "sm_";
constexpr int kLowestMajor = 9;
constexpr int kFirstFamilyMajor = 10;
constexpr std::string_view kForm =
    "an arch is sm_ followed by a compute capability of 90 or more without the dot and at most one "
    "suffix, a (arch-specific) or f (family, sm_100 and later): sm_90a, sm_100f, sm_103a, sm_120a";

[[noreturn]] void refuse(std::string_view text) {
  throw InvalidArgument("arch", traits::quote(text), std::string(kForm));
}

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

}  // namespace

Arch Arch::parse(std::string_view text) {
  if (text.substr(0, kPrefix.size()) != kPrefix) {
    refuse(text);
  }
  std::string_view digits = text.substr(kPrefix.size());
  Arch arch;
  arch.suffix = '\0';
  if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) {
    arch.suffix = digits.back();
    digits.remove_suffix(1);
  }
  const bool well_formed = (digits.size() == 2 || digits.size() == 3) &&
                           std::all_of(digits.begin(), digits.end(), is_digit) &&
                           digits.front() != '0';
  if (!well_formed) {
    refuse(text);
  }
  int number = 0;
  for (const char digit : digits) {
    number = number * 10 + (digit - '0');
  }
  arch.major = static_cast<std::uint16_t>(number / 10);
  arch.minor = static_cast<std::uint16_t>(number % 10);
  if (arch.major < kLowestMajor || (arch.suffix == 'f' && arch.major < kFirstFamilyMajor)) {
    refuse(text);
  }
  return arch;
}

Arch Arch::from_compute_capability(int major, int minor) {
  if (major < kLowestMajor || major > 99 || minor < 0 || minor > 9) {
    throw InvalidArgument("compute capability", std::to_string(major) + "." + std::to_string(minor),
                          "quantjit needs a GPU of compute capability 9.0 or later");
  }
  return {static_cast<std::uint16_t>(major), static_cast<std::uint16_t>(minor), 'a'};
}

std::string Arch::to_string() const {
  std::string text(kPrefix);
  text += std::to_string(number());
  if (suffix != '\0') {
    text += suffix;
  }
  return text;
}

bool Arch::runs_on(int device_major, int device_minor) const {
  if (suffix == 'a') {
    return device_major == major && device_minor == minor;
  }
  return device_major == major && device_minor >= minor;
}

}  // namespace quantjit
