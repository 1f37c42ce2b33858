// SPDX-License-Identifier: Apache-2.0
#include "src/ops/tensor_check.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>
#include <quantjit/ops.hpp>

#include <string>

using namespace quantjit;

namespace {

OutputSpecs specs_of(const std::string& text, const TensorView& input) {
  return output_specs(parse_descriptor(text).traits, input);
}

TensorView bf16(std::initializer_list<std::int64_t> shape) {
  return TensorView::contiguous(reinterpret_cast<void*>(0x1000), DType::kBF16, shape);
}

void disjoint(const ops::NamedTensor& a, const ops::NamedTensor& b) {
  ops::require_disjoint(a, ops::require_shape(a, 2), b, ops::require_shape(b, 2));
}

}  // namespace

TEST_CASE("output_specs: row scales are contiguous, column scales are padded to four rows",
          "[ops]") {
  const OutputSpecs row = specs_of("per_token_group_quant", bf16({38, 2048}));
  CHECK(row.q.shape == std::array<std::int64_t, 4>{38, 2048});
  CHECK(row.q.strides == std::array<std::int64_t, 4>{2048, 1});
  CHECK(row.s.shape == std::array<std::int64_t, 4>{38, 16});
  CHECK(row.s.strides == std::array<std::int64_t, 4>{16, 1});
  CHECK(row.s.storage_bytes() == 38 * 16 * 4);

  const OutputSpecs col = specs_of("per_token_group_quant:layout=col", bf16({38, 2048}));
  CHECK(col.s.shape == std::array<std::int64_t, 4>{38, 16});
  CHECK(col.s.strides == std::array<std::int64_t, 4>{1, 40});
  CHECK(col.s.storage_bytes() == 16 * 40 * 4);
}

TEST_CASE("output_specs: packed scales count words of four groups", "[ops]") {
  const OutputSpecs specs =
      specs_of("per_token_group_quant:scale=ue8m0,layout=col", bf16({5, 768}));
  CHECK(specs.s.dtype == DType::kInt32);
  CHECK(specs.s.shape == std::array<std::int64_t, 4>{5, 2});
  CHECK(specs.s.strides == std::array<std::int64_t, 4>{1, 8});
}

TEST_CASE("output_specs: experts come first, and SiLU halves the columns", "[ops]") {
  const OutputSpecs specs =
      specs_of("per_token_group_quant:scale=ue8m0,layout=col,schedule=masked,silu=true",
               bf16({3, 129, 4096}));
  CHECK(specs.q.shape == std::array<std::int64_t, 4>{3, 129, 2048});
  CHECK(specs.s.shape == std::array<std::int64_t, 4>{3, 129, 4});
  CHECK(specs.s.strides == std::array<std::int64_t, 4>{4 * 132, 1, 132});
  CHECK(specs.s.storage_elements == 3 * 4 * 132);
}

TEST_CASE("output_specs: swizzled scales are whole tiles of 512 bytes", "[ops]") {
  const OutputSpecs specs =
      specs_of("per_token_group_quant:group=32,scale=e8m0,layout=swizzle128x4,numerics=exact",
               bf16({129, 32 * 5}));
  CHECK(specs.s.dtype == DType::kE8M0);
  CHECK(specs.s.ndim == 1);
  CHECK(specs.s.shape[0] == 2 * 2 * 512);
}

TEST_CASE("output_specs: an input that does not fit is refused", "[ops]") {
  CHECK_THROWS_AS(specs_of("per_token_group_quant", bf16({3, 4, 512})), InvalidArgument);
  CHECK_THROWS_AS(specs_of("per_token_group_quant", bf16({3, 500})), InvalidArgument);
  CHECK_THROWS_AS(specs_of("per_token_group_quant:in=f16", bf16({3, 512})), InvalidArgument);
  CHECK_NOTHROW(
      specs_of("per_token_group_quant", TensorView::contiguous(nullptr, DType::kBF16, {3, 512})));
  CHECK(specs_of("per_token_quant", bf16({3, 512})).s.shape == std::array<std::int64_t, 4>{3, 1});
}

TEST_CASE("infer_scale_layout: it guesses as the original does, also where one token fits both",
          "[ops]") {
  const auto scales = [](std::initializer_list<std::int64_t> shape,
                         std::initializer_list<std::int64_t> strides) {
    return TensorView::strided(nullptr, DType::kF32, shape, strides);
  };
  CHECK(infer_scale_layout(scales({7, 16}, {16, 1})) == ScaleLayout::kRow);
  CHECK(infer_scale_layout(scales({7, 16}, {1, 8})) == ScaleLayout::kCol);
  CHECK(infer_scale_layout(scales({7, 1}, {1, 1})) == ScaleLayout::kRow);
  CHECK(infer_scale_layout(scales({1, 16}, {1, 4})) == ScaleLayout::kCol);
  CHECK_THROWS_AS(infer_scale_layout(TensorView::contiguous(nullptr, DType::kF32, {7})),
                  InvalidArgument);
}

TEST_CASE("require_disjoint: rows interleaved in one buffer are disjoint, one byte more is not",
          "[ops]") {
  // One buffer of rows: 512 code bytes, then 4 float scales.
  const auto q =
      TensorView::strided(reinterpret_cast<void*>(0x1000), DType::kE4M3, {6, 512}, {528, 1});
  const auto s =
      TensorView::strided(reinterpret_cast<void*>(0x1000 + 512), DType::kF32, {6, 4}, {132, 1});
  CHECK_NOTHROW(disjoint({q, "q"}, {s, "s"}));
  CHECK_NOTHROW(disjoint({s, "s"}, {q, "q"}));
  auto wide = q;
  wide.shape[1] = 513;
  CHECK_THROWS_AS(disjoint({wide, "q"}, {s, "s"}), InvalidArgument);
  CHECK_THROWS_AS(disjoint({s, "s"}, {wide, "q"}), InvalidArgument);
  auto behind = s;
  behind.data = reinterpret_cast<void*>(0x1000 + 6 * 528);
  CHECK_NOTHROW(disjoint({q, "q"}, {behind, "s"}));
}
