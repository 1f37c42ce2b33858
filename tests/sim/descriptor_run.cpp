// SPDX-License-Identifier: Apache-2.0
// Random shapes, strides and masks for one descriptor; the call on the device and in the reference.
#include "src/driver/device_memory.hpp"
#include "src/ops/geometry.hpp"
#include "src/ops/launch.hpp"
#include "src/service/loaded_kernel.hpp"
#include "tests/sim/descriptor_support.hpp"

#include <quantjit/ops.hpp>

#include <algorithm>
#include <cstring>
#include <span>

namespace quantjit::test {

namespace {

using reference::InputKind;

constexpr InputKind kKinds[] = {InputKind::kUniform, InputKind::kBits,   InputKind::kMidpoint,
                                InputKind::kSpecial, InputKind::kNormal, InputKind::kRows};

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// A copy of a plane on the device.
class DevicePlane {
 public:
  DevicePlane(const SimDevice& device, const Plane& plane)
      : buffer_(device.api(), device.ordinal(), plane.bytes.size()), view_(plane.view) {
    buffer_.upload(plane.bytes);
    view_.data = static_cast<std::byte*>(buffer_.data()) + plane.offset;
    view_.device = device.ordinal();
  }

  [[nodiscard]] const TensorView& view() const { return view_; }

  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::vector<std::byte> copy(buffer_.size());
    buffer_.download(copy);
    return copy;
  }

 private:
  driver::DeviceBuffer buffer_;
  TensorView view_;
};

struct GroupCase {
  std::int64_t experts = 1;
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  std::int64_t groups = 0;
  Plane input;
  Plane q;
  Plane s;
  Plane mask;
  std::int64_t expected_m = 0;
};

std::int64_t random_tokens(Random& random) {
  return random.one_in(8) ? random.between(60, 300) : random.between(1, 40);
}

/// Input or codes: rows on 16 bytes, sometimes on 32; gaps between rows and experts at will.
Plane row_plane(DType dtype, bool masked, std::int64_t experts, std::int64_t rows,
                std::int64_t width, Random& random) {
  const auto unit = static_cast<std::int64_t>(16 / size_in_bytes(dtype));
  const std::int64_t pitch = round_up(width, unit) + unit * random.pick({0, 0, 1, 2, 5});
  const auto shift = static_cast<std::size_t>(16 * random.pick({0, 0, 1, 2}));
  if (!masked) {
    return make_plane(dtype, {rows, width}, {pitch, 1}, shift);
  }
  const std::int64_t expert_pitch = rows * pitch + unit * random.pick({0, 0, 1, 4});
  return make_plane(dtype, {experts, rows, width}, {expert_pitch, pitch, 1}, shift);
}

Plane scale_plane(const PerTokenGroupQuant& traits, const GroupCase& sizes, Random& random) {
  const bool masked = traits.schedule == Schedule::kMasked;
  if (traits.layout == ScaleLayout::kSwizzle128x4) {
    const std::int64_t bytes = round_up(sizes.tokens, 128) * round_up(sizes.groups, 4);
    const std::int64_t pitch = bytes + 16 * random.pick({0, 0, 3});
    return masked ? make_plane(DType::kE8M0, {sizes.experts, bytes}, {pitch, 1}, 0)
                  : make_plane(DType::kE8M0, {bytes}, {1}, 0);
  }
  const bool packed = traits.scale == ScaleFormat::kUE8M0;
  const DType dtype = packed                               ? DType::kInt32
                      : traits.scale == ScaleFormat::kE8M0 ? DType::kE8M0
                                                           : DType::kF32;
  const std::int64_t columns = packed ? round_up(sizes.groups, 4) / 4 : sizes.groups;
  const bool row = traits.layout == ScaleLayout::kRow;
  std::int64_t pitch = row ? columns + random.pick({0, 0, 1, 3})
                           : round_up(sizes.tokens, 4) + 4 * random.pick({0, 0, 1});
  if (!row && traits.fill == Fill::kZero) {
    pitch = round_up(sizes.tokens, 4);
  } else if (!row && random.one_in(4)) {
    pitch = sizes.tokens;  // a column without room for alignment
  }
  const std::int64_t token_stride = row ? pitch : 1;
  const std::int64_t column_stride = row ? 1 : pitch;
  const std::size_t shift = size_in_bytes(dtype) * static_cast<std::size_t>(random.pick({0, 0, 1}));
  if (!masked) {
    return make_plane(dtype, {sizes.tokens, columns}, {token_stride, column_stride}, shift);
  }
  const std::int64_t expert_stride = pitch * (row ? sizes.tokens : columns) + random.pick({0, 4});
  return make_plane(dtype, {sizes.experts, sizes.tokens, columns},
                    {expert_stride, token_stride, column_stride}, shift);
}

Plane mask_plane(const GroupCase& sizes, Random& random) {
  const bool wide = random.one_in(2);
  Plane plane = make_plane(wide ? DType::kInt64 : DType::kInt32, {sizes.experts}, {1}, 0);
  for (std::int64_t expert = 0; expert < sizes.experts; ++expert) {
    std::int64_t live = random.between(0, sizes.tokens);
    if (random.one_in(6)) {
      live = random.pick({0, 0, -3, sizes.tokens, sizes.tokens + 7, 0x7FFFFFFF});
    }
    if (wide && random.one_in(8)) {
      live = random.pick({std::int64_t{1} << 32, -(std::int64_t{1} << 40)});
    }
    std::byte* const at = plane.bytes.data() + plane.offset + expert * (wide ? 8 : 4);
    const auto narrow = static_cast<std::int32_t>(live);
    std::memcpy(at, wide ? static_cast<const void*>(&live) : &narrow, wide ? 8 : 4);
  }
  return plane;
}

GroupCase make_case(const PerTokenGroupQuant& traits, Random& random, std::string& description) {
  GroupCase c;
  const bool masked = traits.schedule == Schedule::kMasked;
  c.tokens = random_tokens(random);
  c.groups = random.between(1, random.one_in(4) ? 24 : 6);
  c.hidden = c.groups * traits.group;
  if (masked) {
    c.tokens = std::min<std::int64_t>(c.tokens, 140);
    c.experts = random.one_in(5) ? random.between(30, 70) : random.between(1, 6);
    c.tokens = c.experts > 6 ? std::min<std::int64_t>(c.tokens, 9) : c.tokens;
    c.expected_m = random.pick({0, -1, 1, 4, c.tokens, 10 * c.tokens});
  }
  const InputKind kind = kKinds[random.between(0, 4)];
  const auto seed = static_cast<std::uint64_t>(random.between(0, 1 << 20));
  const std::int64_t q_rows = masked ? c.tokens : c.tokens + random.pick({0, 0, 1, 2, 3, 5});
  c.input =
      row_plane(traits.in, masked, c.experts, c.tokens, c.hidden * (traits.silu ? 2 : 1), random);
  fill_rows(c.input, kind, seed);
  c.q = row_plane(traits.out, masked, c.experts, q_rows, c.hidden, random);
  c.s = scale_plane(traits, c, random);
  if (masked) {
    c.mask = mask_plane(c, random);
  }
  description = to_text(traits) + " tokens=" + std::to_string(c.tokens) +
                " hidden=" + std::to_string(c.hidden) + " experts=" + std::to_string(c.experts) +
                " kind=" + std::string(reference::to_string(kind)) +
                " seed=" + std::to_string(seed);
  return c;
}

/// Launches with slabs of few rows, which real sizes would reach at 2^35 elements.
void launch_in_slabs(const Kernel& kernel, const PerTokenGroupQuant& traits, const GroupCase& c,
                     const GroupQuantArgs& args, const reference::Target& target, Random& random) {
  const bool masked = traits.schedule == Schedule::kMasked;
  const bool swizzled = traits.layout == ScaleLayout::kSwizzle128x4;
  const ops::GroupQuantProblem problem{.input = args.input.data,
                                       .output_q = args.output_q.data,
                                       .output_s = args.output_s.data,
                                       .masked_m = masked ? args.masked_m.data : nullptr,
                                       .masked_m_is_int64 = args.masked_m.dtype == DType::kInt64,
                                       .num_experts = c.experts,
                                       .num_tokens = c.tokens,
                                       .hidden_size = c.hidden,
                                       .q_rows = args.output_q.size(-2),
                                       .expected_m = args.expected_m,
                                       .input_token_stride = args.input.stride(-2),
                                       .input_expert_stride = masked ? args.input.stride(0) : 0,
                                       .q_token_stride = args.output_q.stride(-2),
                                       .q_expert_stride = masked ? args.output_q.stride(0) : 0,
                                       .s_token_stride = swizzled ? 0 : args.output_s.stride(-2),
                                       .s_group_stride = swizzled ? 0 : args.output_s.stride(-1),
                                       .s_expert_stride = masked ? args.output_s.stride(0) : 0};
  const auto chunks = static_cast<std::uint32_t>(random.between(1, 5) * c.hidden / 16);
  const ops::DeviceFacts facts{target.arch, static_cast<int>(random.pick({1, 132})), chunks};
  const ops::GroupQuantLaunch launch = ops::plan(traits, problem, facts);
  ops::launch_entry(*kernel.state(), launch.shape, &launch.params, nullptr);
}

}  // namespace

Outcome run_group_quant(SimDevice& device, const PerTokenGroupQuant& traits, Random& random,
                        std::string& description) {
  GroupCase c = make_case(traits, random, description);
  const bool masked = traits.schedule == Schedule::kMasked;
  const DevicePlane input(device, c.input);
  const DevicePlane q(device, c.q);
  const DevicePlane s(device, c.s);
  const DevicePlane mask(device, masked ? c.mask : c.s);
  const Kernel kernel = device.service().get({traits, MathMode::kAuto}, device.ordinal());
  GroupQuantArgs args{input.view(), q.view(), s.view(), {}, c.expected_m};
  if (masked) {
    args.masked_m = mask.view();
  }
  if (random.one_in(3)) {
    description += " in slabs";
    launch_in_slabs(kernel, traits, c, args, device.target(), random);
  } else {
    per_token_group_quant(kernel, args, nullptr);
  }
  reference::GroupQuantOperands operands{c.input.view, c.q.view, c.s.view, {}};
  if (masked) {
    operands.masked_m = c.mask.view;
  }
  reference::per_token_group_quant(traits, device.target(), operands);
  return {c.q.bytes, c.s.bytes, q.bytes(), s.bytes()};
}

Outcome run_token_quant(SimDevice& device, const PerTokenQuant& traits, Random& random,
                        std::string& description) {
  const std::int64_t tokens =
      random.one_in(20) ? 16 * device.target().sm_count : random_tokens(random);
  std::int64_t hidden = random.one_in(3) ? random.pick({4, 8, 12, 16, 1076, 1368, 4096, 8196})
                                         : 4 * random.between(1, 200);
  if (random.one_in(12)) {
    hidden = random.pick({24584, 49152, 49156});  // beyond what shared memory holds
  }
  if (tokens > 300 || hidden > 9000) {
    hidden = tokens > 300 ? random.pick({4, 16, 24}) : hidden;
  }
  const std::int64_t rows = hidden > 9000 ? std::min<std::int64_t>(tokens, 3) : tokens;
  const std::int64_t output_rows = rows + random.pick({0, 0, 1, 7});
  const InputKind kind = kKinds[random.between(0, 5)];
  const auto seed = static_cast<std::uint64_t>(random.between(0, 1 << 20));
  const auto unit = static_cast<std::size_t>(hidden % 8 == 0 || traits.in == DType::kF32 ? 16 : 8);
  Plane input = make_plane(traits.in, {rows, hidden}, {hidden, 1},
                           unit * static_cast<std::size_t>(random.pick({0, 0, 1, 2})));
  fill_rows(input, kind, seed);
  Plane q = make_plane(traits.out, {output_rows, hidden}, {hidden, 1},
                       8 * static_cast<std::size_t>(random.pick({0, 0, 1, 2})));
  Plane s = make_plane(DType::kF32, {output_rows}, {1}, 0);
  description = to_text(Traits{traits}) + " tokens=" + std::to_string(rows) +
                " hidden=" + std::to_string(hidden) +
                " kind=" + std::string(reference::to_string(kind)) +
                " seed=" + std::to_string(seed);
  const DevicePlane device_input(device, input);
  const DevicePlane device_q(device, q);
  const DevicePlane device_s(device, s);
  const Kernel kernel = device.service().get({traits, MathMode::kAuto}, device.ordinal());
  per_token_quant(kernel, {device_input.view(), device_q.view(), device_s.view()}, nullptr);
  reference::per_token_quant(traits, device.target(), input.view, q.view, s.view);
  return {q.bytes, s.bytes, device_q.bytes(), device_s.bytes()};
}

}  // namespace quantjit::test
