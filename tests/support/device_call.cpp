// SPDX-License-Identifier: Apache-2.0
#include "tests/support/device_call.hpp"

#include "src/driver/device.hpp"

#include <quantjit/reference.hpp>

#include <algorithm>
#include <stdexcept>

namespace quantjit::test {
namespace {

std::string first_difference(const std::string& name, const std::vector<std::byte>& expected,
                             const std::vector<std::byte>& actual) {
  const auto [one, other] =
      std::mismatch(expected.begin(), expected.end(), actual.begin(), actual.end());
  return one == expected.end() ? ""
                               : name + " byte " + std::to_string(one - expected.begin()) + " is " +
                                     std::to_string(std::to_integer<int>(*other)) + ", not " +
                                     std::to_string(std::to_integer<int>(*one));
}

}  // namespace

io::Problem small_problem(const std::string& descriptor, std::uint64_t seed, std::int64_t tokens,
                          std::int64_t hidden) {
  io::Problem problem;
  problem.traits = parse_descriptor(descriptor).traits;
  problem.tokens = tokens;
  problem.hidden = hidden;
  problem.seed = seed;
  return problem;
}

DeviceCall::DeviceCall(const driver::DriverApi& api, int ordinal, io::Problem problem)
    : ordinal_(ordinal), problem_(std::move(problem)) {
  const driver::DeviceInfo& info = driver::device_info(api, ordinal);
  const reference::Target target{info.arch, MathMode::kAuto, info.sm_count};
  if (!reference::is_bit_exact(problem_.traits, target)) {
    throw std::logic_error("the reference does not know the bits of " + to_text(problem_.traits));
  }
  const io::ProblemBuffers buffers = io::make_buffers(problem_);
  poison_q_ = buffers.q;
  poison_s_ = buffers.s;
  const auto upload = [&](driver::DeviceBuffer& to, const std::vector<std::byte>& bytes) {
    to = driver::DeviceBuffer(api, ordinal, bytes.size());
    to.upload(bytes);
  };
  upload(input_, buffers.input);
  upload(q_, buffers.q);
  upload(s_, buffers.s);
  input_view_ = io::rebased(buffers.input_view, input_.data(), ordinal);
  q_view_ = io::rebased(buffers.q_view, q_.data(), ordinal);
  s_view_ = io::rebased(buffers.s_view, s_.data(), ordinal);
  io::run_reference(problem_, target, buffers);
  expected_q_ = buffers.q;
  expected_s_ = buffers.s;
}

GroupQuantArgs DeviceCall::group_args() const {
  return {.input = input_view_, .output_q = q_view_, .output_s = s_view_};
}

template <typename Via>
void DeviceCall::launch_via(Via&& via, Stream stream) const {
  if (std::holds_alternative<PerTokenGroupQuant>(problem_.traits)) {
    via([&](auto&&... how) { per_token_group_quant(how..., group_args(), stream); });
  } else {
    const TokenQuantArgs args{.input = input_view_, .output_q = q_view_, .output_s = s_view_};
    via([&](auto&&... how) { per_token_quant(how..., args, stream); });
  }
}

void DeviceCall::launch(const Kernel& kernel, Stream stream) const {
  launch_via([&](auto&& call) { call(kernel); }, stream);
}

void DeviceCall::launch(KernelService& service, Stream stream) const {
  launch_via([&](auto&& call) { call(service, descriptor()); }, stream);
}

void DeviceCall::poison() const {
  q_.upload(poison_q_);
  s_.upload(poison_s_);
}

std::vector<std::byte> DeviceCall::download(const driver::DeviceBuffer& buffer) {
  std::vector<std::byte> bytes(buffer.size());
  buffer.download(bytes);
  return bytes;
}

std::string DeviceCall::difference() const {
  const std::string q = first_difference("output_q", expected_q_, download(q_));
  return q.empty() ? first_difference("output_s", expected_s_, download(s_)) : q;
}

bool DeviceCall::is_poisoned() const {
  return download(q_) == poison_q_ && download(s_) == poison_s_;
}

}  // namespace quantjit::test
