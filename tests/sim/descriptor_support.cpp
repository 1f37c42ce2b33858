// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/descriptor_support.hpp"

#include "src/driver/device.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace quantjit::test {

namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr std::byte kPoison{0xA5};

ServiceOptions memory_only() {
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{};
  options.cuda_driver = QUANTJIT_SIMCUDA_LIBRARY;
  return options;
}

/// The driver reads the variable once in a process.
const char* with_devices() {
  setenv("QUANTJIT_SIM_DEVICES", "sm_90a,sm_100a", 1);
  return QUANTJIT_SIMCUDA_LIBRARY;
}

}  // namespace

std::int64_t Random::between(std::int64_t low, std::int64_t high) {
  const auto span = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<std::int64_t>(engine_() % span);
}

std::int64_t Random::pick(std::initializer_list<std::int64_t> values) {
  return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
}

Plane make_plane(DType dtype, const std::vector<std::int64_t>& shape,
                 const std::vector<std::int64_t>& strides, std::size_t shift) {
  Plane plane;
  std::int64_t last = 0;
  bool empty = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    last += (shape[i] - 1) * strides[i];
    empty = empty || shape[i] == 0;
  }
  const std::size_t span = empty ? 0 : static_cast<std::size_t>(last + 1) * size_in_bytes(dtype);
  plane.offset = kGuardBytes + shift;
  plane.bytes.assign(plane.offset + span + kGuardBytes, kPoison);
  plane.view.data = plane.bytes.data() + plane.offset;
  plane.view.dtype = dtype;
  plane.view.ndim = static_cast<std::uint8_t>(shape.size());
  std::copy(shape.begin(), shape.end(), plane.view.shape.begin());
  std::copy(strides.begin(), strides.end(), plane.view.strides.begin());
  return plane;
}

void fill_rows(Plane& plane, reference::InputKind kind, std::uint64_t seed) {
  const TensorView& view = plane.view;
  const auto size = static_cast<std::int64_t>(size_in_bytes(view.dtype));
  const std::int64_t width = view.size(-1);
  const std::int64_t rows = view.size(-2);
  const std::int64_t experts = view.ndim == 3 ? view.size(0) : 1;
  std::vector<std::byte> dense(static_cast<std::size_t>(experts * rows * width * size));
  reference::generate(kind, view.dtype, seed, static_cast<std::size_t>(experts * rows * width),
                      static_cast<std::size_t>(width), dense.data());
  for (std::int64_t row = 0; row < experts * rows; ++row) {
    const std::int64_t expert_stride = view.ndim == 3 ? view.stride(0) : 0;
    const std::int64_t at = row / rows * expert_stride + row % rows * view.stride(-2);
    std::copy_n(dense.data() + row * width * size, width * size,
                plane.bytes.data() + static_cast<std::int64_t>(plane.offset) + at * size);
  }
}

SimDevice::SimDevice(const std::string& arch)
    : api_(&driver::DriverApi::get(with_devices())), service_(memory_only()) {
  while (driver::device_info(*api_, ordinal_).arch != Arch::parse(arch)) {
    ++ordinal_;
  }
}

reference::Target SimDevice::target() const {
  const driver::DeviceInfo& info = driver::device_info(*api_, ordinal_);
  return {info.arch, MathMode::kAuto, info.sm_count};
}

std::string first_difference(const std::vector<std::byte>& expected,
                             const std::vector<std::byte>& actual) {
  const auto [one, other] =
      std::mismatch(expected.begin(), expected.end(), actual.begin(), actual.end());
  if (one == expected.end() && other == actual.end()) {
    return {};
  }
  return "byte " + std::to_string(one - expected.begin()) + " of " +
         std::to_string(expected.size()) + ": expected " +
         std::to_string(std::to_integer<int>(*one)) + ", device wrote " +
         std::to_string(std::to_integer<int>(*other));
}

std::vector<Traits> draw_traits(std::size_t count, std::uint64_t seed) {
  std::vector<Traits> all = enumerate_traits();
  if (count == 0 || count >= all.size()) {
    return all;
  }
  std::mt19937_64 engine(seed);
  std::vector<Traits> drawn;
  std::sample(all.begin(), all.end(), std::back_inserter(drawn), count, engine);
  return drawn;
}

std::uint64_t test_seed() {
  const char* const text = std::getenv("QUANTJIT_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

std::size_t descriptor_count() {
  const char* const text = std::getenv("QUANTJIT_TEST_DESCRIPTORS");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 300;
}

}  // namespace quantjit::test
