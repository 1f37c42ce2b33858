// SPDX-License-Identifier: Apache-2.0
// Random calls of an operation with strided, guarded, poisoned tensors, run on a simulated device
// and compared byte for byte with the CPU reference.
#pragma once

#include "src/driver/driver_api.hpp"

#include <quantjit/reference.hpp>
#include <quantjit/service.hpp>
#include <quantjit/traits.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace quantjit::test {

/// Everything random in these tests comes from one of these.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);

  bool one_in(int n) { return between(1, n) == 1; }

  std::int64_t pick(std::initializer_list<std::int64_t> values);

 private:
  std::mt19937_64 engine_;
};

/// Memory of one tensor with a guard before and behind it, and a view into it.
struct Plane {
  std::vector<std::byte> bytes;
  std::size_t offset = 0;  ///< of the view's first element
  TensorView view;
};

/// Memory for a tensor of these shape and strides (in elements) that begins `shift` bytes behind a
/// 256-byte boundary. Every byte is poisoned.
Plane make_plane(DType dtype, const std::vector<std::int64_t>& shape,
                 const std::vector<std::int64_t>& strides, std::size_t shift);

/// Fills the elements of an input, row by row, with `kind`; what lies between rows keeps its
/// poison.
void fill_rows(Plane& plane, reference::InputKind kind, std::uint64_t seed);

/// A service without a disk cache and one of two simulated devices, sm_90a and sm_100a.
class SimDevice {
 public:
  /// Throws: InvalidArgument if there is no such device.
  explicit SimDevice(const std::string& arch);

  KernelService& service() { return service_; }

  [[nodiscard]] const driver::DriverApi& api() const { return *api_; }

  [[nodiscard]] int ordinal() const { return ordinal_; }

  [[nodiscard]] reference::Target target() const;

 private:
  const driver::DriverApi* api_;
  KernelService service_;
  int ordinal_ = 0;
};

/// Codes and scales as the reference and the device left them.
struct Outcome {
  std::vector<std::byte> expected_q;
  std::vector<std::byte> expected_s;
  std::vector<std::byte> q;
  std::vector<std::byte> s;
};

/// "" if all bytes agree, else the first difference.
std::string first_difference(const std::vector<std::byte>& expected,
                             const std::vector<std::byte>& actual);

/// `count` of all traits, drawn by `seed`; all of them where `count` is 0.
std::vector<Traits> draw_traits(std::size_t count, std::uint64_t seed);

/// QUANTJIT_TEST_SEED, or a new seed.
std::uint64_t test_seed();
/// QUANTJIT_TEST_DESCRIPTORS, or 300; 0 means all.
std::size_t descriptor_count();

/// One random call of a kernel of these traits. Returns what to compare.
Outcome run_group_quant(SimDevice& device, const PerTokenGroupQuant& traits, Random& random,
                        std::string& description);
Outcome run_token_quant(SimDevice& device, const PerTokenQuant& traits, Random& random,
                        std::string& description);

}  // namespace quantjit::test
