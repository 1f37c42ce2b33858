// SPDX-License-Identifier: Apache-2.0
#include "tests/support/catch.hpp"

#include <quantjit/arch.hpp>
#include <quantjit/error.hpp>
#include <quantjit/tensor.hpp>

#include <string>

using namespace quantjit;
using quantjit::test::ContainsSubstring;

TEST_CASE("Arch: text to struct to text is the identity", "[traits]") {
  for (const char* text : {"sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_103f",
                           "sm_110a", "sm_120a", "sm_120f", "sm_121a"}) {
    CHECK(Arch::parse(text).to_string() == text);
  }
  const Arch arch = Arch::parse("sm_103f");
  CHECK(arch.major == 10);
  CHECK(arch.minor == 3);
  CHECK(arch.suffix == 'f');
  CHECK(arch.number() == 103);
}

TEST_CASE("Arch: what is no target is refused with the form", "[traits]") {
  const std::string nul("sm_90a\0", 7);
  for (const std::string& text : {std::string(),
                                  std::string("sm_"),
                                  std::string("sm_9"),
                                  std::string("sm_89"),
                                  std::string("sm_80a"),
                                  std::string("SM_90"),
                                  std::string("sm90"),
                                  std::string("90"),
                                  std::string("compute_90"),
                                  std::string("sm_90b"),
                                  std::string("sm_90aa"),
                                  std::string("sm_90f"),
                                  std::string("sm_090"),
                                  std::string("sm_1000a"),
                                  std::string("sm_-90"),
                                  std::string(" sm_90"),
                                  std::string("sm_90 "),
                                  std::string("sm_9x"),
                                  std::string("sm_99999999999999999999"),
                                  nul}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Arch::parse(text), InvalidArgument);
    CHECK_THROWS_WITH(Arch::parse(text), ContainsSubstring("sm_100f"));
  }
}

TEST_CASE("Arch: a target runs where its kind of code does", "[traits]") {
  CHECK(Arch::parse("sm_90a").runs_on(9, 0));
  CHECK_FALSE(Arch::parse("sm_90a").runs_on(10, 0));
  CHECK_FALSE(Arch::parse("sm_100a").runs_on(10, 3));
  CHECK(Arch::parse("sm_100f").runs_on(10, 3));
  CHECK_FALSE(Arch::parse("sm_103f").runs_on(10, 0));
  CHECK_FALSE(Arch::parse("sm_100f").runs_on(12, 0));
  CHECK(Arch::parse("sm_100").runs_on(10, 3));
  CHECK_FALSE(Arch::parse("sm_90").runs_on(10, 0));
}

TEST_CASE("Arch: a compute capability gives the arch-specific target", "[traits]") {
  CHECK(Arch::from_compute_capability(9, 0).to_string() == "sm_90a");
  CHECK(Arch::from_compute_capability(12, 1).to_string() == "sm_121a");
  CHECK_THROWS_WITH(Arch::from_compute_capability(8, 9), ContainsSubstring("8.9"));
  CHECK_THROWS_AS(Arch::from_compute_capability(10, 10), InvalidArgument);
  CHECK_THROWS_AS(Arch::from_compute_capability(-1, 0), InvalidArgument);
}

TEST_CASE("TensorView: contiguous strides are row-major", "[traits]") {
  float data = 0;
  const TensorView view = TensorView::contiguous(&data, DType::kF32, {2, 3, 5}, 1);
  CHECK(view.ndim == 3);
  CHECK(view.device == 1);
  CHECK(view.numel() == 30);
  CHECK(view.stride(0) == 15);
  CHECK(view.stride(-2) == 5);
  CHECK(view.stride(-1) == 1);
  CHECK(view.size(-3) == 2);
  CHECK(TensorView::contiguous(nullptr, DType::kF32, {}).numel() == 1);
  CHECK(TensorView::contiguous(nullptr, DType::kF32, {4, 0, 3}).stride(0) == 3);
}

TEST_CASE("TensorView: impossible shapes are refused", "[traits]") {
  const std::int64_t huge = std::int64_t{1} << 32U;
  CHECK_THROWS_AS(TensorView::contiguous(nullptr, DType::kF32, {1, 1, 1, 1, 1}), InvalidArgument);
  CHECK_THROWS_AS(TensorView::contiguous(nullptr, DType::kF32, {2, -1}), InvalidArgument);
  CHECK_THROWS_AS(TensorView::contiguous(nullptr, DType::kF32, {huge, huge}), InvalidArgument);
  CHECK_THROWS_AS(TensorView::contiguous(nullptr, DType::kF32, {0, huge, huge}), InvalidArgument);
  CHECK_THROWS_AS(TensorView::strided(nullptr, DType::kF32, {2, 3}, {1}), InvalidArgument);
}
