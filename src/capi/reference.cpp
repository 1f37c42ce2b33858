// SPDX-License-Identifier: Apache-2.0
#include "src/capi/guard.hpp"
#include "src/capi/tensor.hpp"
#include "src/capi/text.hpp"

#include <quantjit/error.hpp>
#include <quantjit/quantjit.h>
#include <quantjit/reference.hpp>

#include <string>

using namespace quantjit;
using namespace quantjit::capi;

namespace {

reference::Target target_of(const qj_reference_target* target, MathMode asked_for) {
  const qj_reference_target given = read_struct(target, "target");
  if (given.math < QJ_MATH_AUTO || given.math > QJ_MATH_PRECISE) {
    throw InvalidArgument("target.math", std::to_string(given.math), "it must be one of QJ_MATH_*");
  }
  if (given.sm_count < 1) {
    throw InvalidArgument("target.sm_count", std::to_string(given.sm_count),
                          "it must be the number of the GPU's multiprocessors");
  }
  return {.arch = Arch::parse(view_of(given.arch, "target.arch")),
          .math = asked_for != MathMode::kAuto ? asked_for : static_cast<MathMode>(given.math),
          .sm_count = given.sm_count};
}

}  // namespace

qj_status qj_reference(const char* traits, size_t traits_size, const qj_reference_target* target,
                       const qj_operands* operands) {
  return guard([&] {
    const Descriptor descriptor = parse_descriptor(view_of(traits, traits_size, "traits"));
    const reference::Target resolved = target_of(target, descriptor.math);
    const qj_operands given = read_struct(operands, "operands");
    const Place host{Place::Kind::kHost, 0};
    const TensorView input = view_of(given.input, "input", host);
    const TensorView output_q = view_of(given.output_q, "output_q", host);
    const TensorView output_s = view_of(given.output_s, "output_s", host);
    const TensorView masked_m = view_if_given(given.masked_m, "masked_m", host);
    if (const auto* const group = std::get_if<PerTokenGroupQuant>(&descriptor.traits)) {
      reference::per_token_group_quant(*group, resolved, {input, output_q, output_s, masked_m});
      return;
    }
    if (given.masked_m != nullptr) {
      throw InvalidArgument("masked_m", "given", "per_token_quant takes no masked_m");
    }
    reference::per_token_quant(std::get<PerTokenQuant>(descriptor.traits), resolved, input,
                               output_q, output_s);
  });
}
