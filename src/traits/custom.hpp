// SPDX-License-Identifier: Apache-2.0
// Operations of the program: schema, descriptors, name expressions.
#pragma once

#include "src/traits/specialization.hpp"

#include <quantjit/source.hpp>
#include <quantjit/traits.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace quantjit {

/// A checked source. Immutable; each has a number of its own in the process.
struct CustomOperation {
  Source source;         ///< `text` is there, wherever it is from
  std::uint32_t id = 0;  ///< from 1
};

namespace traits {

/// Most of the source and of each file that it includes.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20U;
/// Largest parameter struct that a kernel may take.
inline constexpr std::size_t kMaxParameterBytes = 4096;
/// Bits that pack() has for an operation's number and for its values.
inline constexpr unsigned kOperationBits = 27;
inline constexpr std::uint64_t kMaxCombinations = (std::uint64_t{1} << 32U) - 1;

/// Checks a source and reads its file, if it names one. Equal sources are one operation, which
/// stays until the process ends, as their code does. Throws: InvalidArgument. Thread safe.
[[nodiscard]] const CustomOperation& make_operation(Source source);

/// Reads the items behind "op:" of a descriptor text. Throws: InvalidArgument.
[[nodiscard]] Descriptor parse_custom(const CustomOperation& operation, std::string_view items);

/// Throws InvalidArgument unless the traits name an operation and a value of each of its keys.
void validate_custom(const CustomTraits& traits);
[[nodiscard]] std::string custom_text(const CustomTraits& traits);
/// The values as one number below kMaxCombinations, or that for values that do not exist.
[[nodiscard]] std::uint64_t value_number(const CustomTraits& traits);
void specialize_custom(const CustomTraits& traits, MathMode math, Specialization& to);

}  // namespace traits

}  // namespace quantjit
