// SPDX-License-Identifier: Apache-2.0
// Trait descriptors: a plain struct per operation, and one canonical text form,
//   op:key=value,key=value,...
// with every key in a fixed order and no blanks. Text -> struct -> text is the identity on
// canonical text.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/export.hpp>
#include <quantjit/tensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quantjit {

// Enumerator values are part of the key and of the device code's template arguments: never change
// one, append new ones.

/// How a scale is stored and which multiplier follows from it.
enum class ScaleFormat : std::uint8_t {
  kF32 = 0,      ///< "f32": float scale amax/MAX
  kUE8M0 = 1,    ///< "ue8m0": biased exponent bytes, four to an int32 word
  kF32Pow2 = 2,  ///< "f32_pow2": the power of two of `ue8m0`, stored as float
  kE8M0 = 3,     ///< "e8m0": biased exponent bytes, one element each (MXFP8)
};

/// Where scale (token, group) lies.
///
/// `swizzle128x4` keeps the scales of 128 tokens x 4 groups in a tile of 512 bytes. Byte of (token,
/// group): ((token / 128) * ceil(G / 4) + group / 4) * 512 + (token % 32) * 16 +
/// (token % 128) / 32 * 4 + group % 4, an expert at a time; a buffer holds ceil(T / 128) *
/// ceil(G / 4) tiles an expert. Every byte of a tile that holds a live token is written: tokens
/// beyond the last live one (T with schedule=flat, masked_m[e] with schedule=masked) and groups
/// beyond G get 0. Tiles with no live token are left untouched.
/// Source: the 128x4 block scaling factor layout of cuBLAS and of the PTX block-scaled mma.
enum class ScaleLayout : std::uint8_t {
  kRow = 0,           ///< "row": group stride 1
  kCol = 1,           ///< "col": token stride 1
  kSwizzle128x4 = 2,  ///< "swizzle128x4": the 512-byte tiles of Blackwell's block-scaled GEMMs
};

/// Which rows are live.
enum class Schedule : std::uint8_t {
  kFlat = 0,    ///< "flat": [num_tokens, hidden_size]
  kMasked = 1,  ///< "masked": [num_experts, num_tokens_padded, hidden_size], `masked_m[e]` live
                ///< rows an expert
};

/// Whose bits.
enum class Numerics : std::uint8_t {
  kSglang = 0,    ///< "sglang": the trait-driven SGLang kernel / SGLang per-token FP8
  kSglangV2 = 1,  ///< "sglang_v2": its 8bit_v2 predecessor
  kVllm = 2,      ///< "vllm": vLLM's DeepGEMM-packed register kernel
  kExact = 3,     ///< "exact": no approximate instruction, the same bytes on every arch
};

/// What happens to output padding.
enum class Fill : std::uint8_t {
  kNone = 0,  ///< "none": padding is left untouched
  kZero = 1,  ///< "zero": pad rows and pad words are zeroed as vLLM's kernel does
};

/// What an all-zero row gives in `per_token_quant`.
enum class ZeroRows : std::uint8_t {
  kLegacy = 0,  ///< "legacy": scale 0; codes 0x7E below the original's warp threshold, else +-0
  kZero = 1,    ///< "zero": codes +-0
};

/// Descriptor of `per_token_group_quant`: one scale per `group` consecutive elements of a row.
struct PerTokenGroupQuant {
  DType in = DType::kBF16;                 ///< bf16, f16, f32
  DType out = DType::kE4M3;                ///< e4m3, int8
  std::uint16_t group = 128;               ///< elements that share a scale
  ScaleFormat scale = ScaleFormat::kF32;   ///< how scales are stored
  ScaleLayout layout = ScaleLayout::kRow;  ///< where they lie
  bool silu =
      false;  ///< input is [.., 2 * hidden_size]: silu(first half) * second half is quantized
  Schedule schedule = Schedule::kFlat;    ///< which rows are live
  Numerics numerics = Numerics::kSglang;  ///< whose bits
  Fill fill = Fill::kNone;                ///< what happens to padding
  bool pdl = true;                        ///< programmatic dependent launch

  friend bool operator==(const PerTokenGroupQuant&, const PerTokenGroupQuant&) = default;
};

/// Descriptor of `per_token_quant`: one scale per row.
struct PerTokenQuant {
  DType in = DType::kBF16;                 ///< bf16, f16, f32
  DType out = DType::kE4M3;                ///< e4m3
  ZeroRows zero_rows = ZeroRows::kLegacy;  ///< what rows of zeros give
  Numerics numerics = Numerics::kSglang;   ///< sglang, exact
  bool pdl = true;                         ///< programmatic dependent launch

  friend bool operator==(const PerTokenQuant&, const PerTokenQuant&) = default;
};

struct CustomOperation;  ///< a registered source; defined inside the library

/// Descriptor of an operation that a program registered, see quantjit/source.hpp. It names the
/// source that it was parsed with, which stays until the process ends.
struct CustomTraits {
  static constexpr std::size_t kMaxKeys = 16;  ///< most keys

  const CustomOperation* operation = nullptr;   ///< whose descriptor it is
  std::array<std::uint8_t, kMaxKeys> values{};  ///< of each key, an index of its values
  bool pdl = true;                              ///< programmatic dependent launch

  friend bool operator==(const CustomTraits&, const CustomTraits&) = default;
};

/// Any operation's traits.
using Traits = std::variant<PerTokenGroupQuant, PerTokenQuant, CustomTraits>;

/// What a request names: the traits, and the math mode written beside them.
struct Descriptor {
  Traits traits;                    ///< the operation
  MathMode math = MathMode::kAuto;  ///< mode that it asks for

  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};

/// Parses a trait text of an operation of the library. Keys may come in any order; missing keys
/// take their defaults (`fill` is `zero` by default with numerics=vllm, `zero_rows` is `zero` with
/// numerics=exact). `math=auto|fast|precise` may be written anywhere. Throws: InvalidArgument for
/// an unknown operation, key or value, a doubled key, blanks, or a combination that `validate`
/// refuses; the message names the keys, the values and what is allowed. Thread safe.
QUANTJIT_API Descriptor parse_descriptor(std::string_view text);

/// Throws InvalidArgument, naming both keys, if the combination is not one of the contract's.
/// Thread safe.
QUANTJIT_API void validate(const Traits& traits);

/// Canonical text of the traits (without `math`). Thread safe.
QUANTJIT_API std::string to_text(const Traits& traits);
/// The same, with `,math=fast` or `,math=precise` behind it if the descriptor names that mode.
/// Thread safe.
QUANTJIT_API std::string to_text(const Descriptor& descriptor);

/// "per_token_group_quant", "per_token_quant", or the name of a registered operation. Valid while
/// the traits live.
QUANTJIT_API std::string_view op_name(const Traits& traits);

/// Element types of input and codes. Throws: InvalidArgument for a registered operation.
QUANTJIT_API DType input_dtype(const Traits& traits);
QUANTJIT_API DType output_dtype(const Traits& traits);

QUANTJIT_API std::string_view to_string(ScaleFormat value);
QUANTJIT_API std::string_view to_string(ScaleLayout value);
QUANTJIT_API std::string_view to_string(Schedule value);
QUANTJIT_API std::string_view to_string(Numerics value);
QUANTJIT_API std::string_view to_string(Fill value);
QUANTJIT_API std::string_view to_string(ZeroRows value);

/// The math mode a kernel is compiled with. `exact` and `vllm` are always precise. Otherwise: the
/// descriptor's own mode, else `preference` (the service's setting), else the target's default.
/// `preference` never makes an exact or vllm descriptor fail. Throws: InvalidArgument if the
/// descriptor itself asks for fast with exact or vllm.
QUANTJIT_API MathMode resolve_math(const Descriptor& descriptor, const Arch& arch,
                                   MathMode preference = MathMode::kAuto);

/// All valid traits of the library's operations, in a fixed order (about 3,000). The whole space
/// that prewarm and the tests enumerate.
QUANTJIT_API std::vector<Traits> enumerate_traits();

/// All fields of valid traits in one integer, unique over all operations: the in-memory key.
QUANTJIT_API std::uint64_t pack(const Traits& traits);

/// One key of an operation, for `quantjit traits` and for messages.
struct KeyInfo {
  std::string_view key;                  ///< its name
  std::vector<std::string_view> values;  ///< default first
  std::string_view rule;                 ///< combinations it takes part in; empty if free
};

/// One operation with its keys in canonical order.
struct OpInfo {
  std::string_view op;        ///< its name
  std::string_view summary;   ///< what it does
  std::vector<KeyInfo> keys;  ///< in canonical order
};

/// Describes every operation of the library. Thread safe.
QUANTJIT_API std::vector<OpInfo> describe_ops();

}  // namespace quantjit
