// SPDX-License-Identifier: Apache-2.0
// Descriptor texts: what is accepted has one canonical text that means the same, and compiles to
// something for any target; what is refused is refused by an InvalidArgument with one line.
#include "src/traits/specialization.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <quantjit/arch.hpp>
#include <quantjit/error.hpp>
#include <quantjit/traits.hpp>

#include <string>

namespace quantjit::fuzz {
namespace {

void try_specialization(const Descriptor& descriptor, const Arch& arch) {
  const MathMode math = resolve_math(descriptor, arch);
  require(math == MathMode::kFast || math == MathMode::kPrecise, "a math mode is resolved");
  const Specialization made = specialize(descriptor.traits, math, arch);
  require(!made.source.empty(), "a specialization names its source");
  require(!made.name_expressions.empty() && made.name_expressions.size() <= 3,
          "one to three entry points");
}

void try_descriptor(std::string_view text) {
  Descriptor descriptor;
  try {
    descriptor = parse_descriptor(text);
  } catch (const InvalidArgument& refusal) {
    require_message(refusal.what());
    return;
  }
  const std::string canonical = to_text(descriptor.traits);
  const Descriptor again = parse_descriptor(canonical);
  require(again.traits == descriptor.traits, "the canonical text means the same traits");
  require(again.math == MathMode::kAuto, "the canonical text names no math mode");
  require(to_text(again.traits) == canonical, "text -> struct -> text is the identity");
  require(pack(again.traits) == pack(descriptor.traits), "equal traits have one packed form");
  validate(descriptor.traits);
  for (const Arch& arch : {Arch{9, 0, 'a'}, Arch{10, 0, 'f'}, Arch{12, 1, '\0'}}) {
    try_specialization(descriptor, arch);
  }
}

template <typename Parse, typename ToText>
void try_word(std::string_view text, Parse parse, ToText to_text_of) {
  try {
    const auto value = parse(text);
    require(to_text_of(value) == text, "a word that is accepted is the canonical one");
  } catch (const InvalidArgument& refusal) {
    require_message(refusal.what());
  }
}

}  // namespace

void fuzz_traits(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_descriptor(text);
  try_word(text, &Arch::parse, [](const Arch& arch) { return arch.to_string(); });
  try_word(text, &parse_math_mode, [](MathMode math) { return std::string(to_string(math)); });
}

}  // namespace quantjit::fuzz

QUANTJIT_FUZZ_MAIN(fuzz_traits)
