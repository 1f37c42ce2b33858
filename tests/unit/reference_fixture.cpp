// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/reference_fixture.hpp"

#include "src/reference/operands.hpp"
#include "src/reference/soft_float.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <cstring>
#include <utility>

namespace quantjit::test {

reference::Target target_of(const char* arch, MathMode math) {
  return {Arch::parse(arch), math};
}

void Call::set_bits(std::size_t index, std::uint32_t bits) {
  const std::size_t size = size_in_bytes(buffers.input_view.dtype);
  std::memcpy(&buffers.input.at(index * size), &bits, size);  // little-endian hosts
}

void Call::set(std::size_t index, float value) {
  switch (buffers.input_view.dtype) {
    case DType::kBF16: set_bits(index, reference::to_bf16(value)); break;
    case DType::kF16: set_bits(index, reference::to_f16(value)); break;
    default: set_bits(index, reference::bits_of(value)); break;
  }
  TensorView flat = buffers.input_view;
  const float held = reference::load_value(flat, static_cast<std::int64_t>(index));
  REQUIRE((std::isnan(value) ? std::isnan(held) : held == value));
}

void Call::run() {
  io::run_reference(problem, target, buffers);
}

int Call::code(std::size_t index) const {
  return std::to_integer<int>(buffers.q.at(index));
}

std::uint32_t Call::scale_word(std::size_t index) const {
  std::uint32_t word = 0;
  REQUIRE(buffers.s.size() >= (index + 1) * sizeof word);
  std::memcpy(&word, &buffers.s[index * sizeof word], sizeof word);
  return word;
}

int Call::scale_byte(std::size_t index) const {
  return std::to_integer<int>(buffers.s.at(index));
}

Call make_call(const std::string& text, std::int64_t tokens, std::int64_t hidden,
               std::vector<std::int64_t> masked_m, std::int64_t pad_rows) {
  Call call;
  call.problem.traits = parse_descriptor(text).traits;
  call.problem.tokens = tokens;
  call.problem.hidden = hidden;
  call.problem.experts = static_cast<std::int64_t>(masked_m.size());
  call.problem.masked_m = std::move(masked_m);
  call.problem.pad_rows = pad_rows;
  call.buffers = io::make_buffers(call.problem);
  std::fill(call.buffers.input.begin(), call.buffers.input.end(), std::byte{0});
  return call;
}

Row quantize(const std::string& text, const std::vector<float>& values,
             const reference::Target& target) {
  const Traits traits = parse_descriptor(text).traits;
  const auto* group = std::get_if<PerTokenGroupQuant>(&traits);
  const std::size_t multiple = group != nullptr ? group->group : 4;
  const std::size_t length = (values.size() + multiple - 1) / multiple * multiple;
  Call call = make_call(text, 1, static_cast<std::int64_t>(length));
  call.target = target;
  for (std::size_t i = 0; i < values.size(); ++i) {
    call.set(i, values[i]);
  }
  call.run();
  Row row;
  for (std::size_t i = 0; i < values.size(); ++i) {
    row.codes.push_back(call.code(i));
  }
  row.scale = call.scale_word(0);
  return row;
}

}  // namespace quantjit::test
