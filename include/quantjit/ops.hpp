// SPDX-License-Identifier: Apache-2.0
// Typed operations: check every tensor against the contract, choose the launch geometry, launch.
// Numerics: quantjit's kernel contracts, see README "Operations".
//
// Common to all launches. Asynchronous: they return before the kernel ends, and device memory must
// stay valid until the stream has passed the launch. They take no lock and allocate nothing. Thread
// safe. With `pdl=true` the launch carries the programmatic stream serialization attribute: the
// kernel may start before its predecessor ends and waits (griddepcontrol.wait) before it touches
// memory. InvalidArgument is thrown before any CUDA call, but for questions about devices.
//
// Several devices: kernel, tensors and stream must be of one device, whichever is current; anything
// else is InvalidArgument that names the devices of all of them and of the current context. A
// tensor's device is what `TensorView::device` says: the driver is not asked where memory lives,
// which would cost more than everything else. A stream is asked for its context at every launch.
// Null and the two default-stream handles (CU_STREAM_LEGACY, CU_STREAM_PER_THREAD) mean a default
// stream of the kernel's device: of the current context if that is on the device, else of its
// primary one. The caller's current context is the same afterwards, also on errors, and a thread
// needs none.
#pragma once

#include <quantjit/export.hpp>
#include <quantjit/kernel.hpp>
#include <quantjit/service.hpp>
#include <quantjit/tensor.hpp>
#include <quantjit/traits.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace quantjit {

/// Operands of per_token_group_quant. H = hidden_size (output columns), G = H / group, T =
/// num_tokens, E = num_experts.
///
/// | tensor   | schedule=flat              | schedule=masked                | dtype          |
/// |----------|----------------------------|--------------------------------|----------------|
/// | input    | [T, H] ([T, 2H] with silu) | [E, T_pad, H] ([E, T_pad, 2H]) | `in`           |
/// | output_q | [rows >= T, H]             | [E, T_pad, H]                  | `out`          |
/// | output_s | [T, S]                     | [E, T_pad, S]                  | by `scale`     |
/// | masked_m | not given (ndim 0)         | [E], contiguous                | int32 or int64 |
///
/// Scales: `f32`, `f32_pow2`: f32 with S = G; `ue8m0`: int32 with S = ceil(G / 4), byte b of word p
/// is group 4p + b; `e8m0`: e8m0 with S = G (layout=row), or one contiguous dimension of 128 x 4
/// tiles (layout=swizzle128x4), ceil(T / 128) * ceil(G / 4) * 512 bytes an expert. Strides, in
/// elements: last dimension of input and output_q 1; rows and experts free, but every row must
/// start on 16 bytes (input and output_q; 32 bytes give the widest accesses). layout=row: scale
/// stride(-1) is 1; layout=col: scale stride(-2) is 1. Strides of dimensions of size 1 are not
/// looked at. Outputs must not overlap each other or the input. All tensors on the kernel's device.
struct GroupQuantArgs {
  TensorView input;     ///< read
  TensorView output_q;  ///< written: codes
  TensorView output_s;  ///< written: scales
  /// schedule=masked: live rows an expert; values outside [0, T_pad] are clamped.
  TensorView masked_m{};
  /// Hint: expected live rows an expert; 0 or less = unknown. Never changes results.
  std::int64_t expected_m = 0;
};

/// Quantizes groups of `group` consecutive elements, each with its own scale. Rows at or beyond
/// masked_m[e] and padding keep their contents, except where numerics=vllm,fill=zero and pack tails
/// say otherwise. Empty work (T, G or E is 0) returns without a launch.
/// @param kernel from KernelService::get with a PerTokenGroupQuant descriptor
/// Throws: InvalidArgument (parameter, value, rule) before any CUDA call; DriverError.
QUANTJIT_API void per_token_group_quant(const Kernel& kernel, const GroupQuantArgs& args,
                                        Stream stream);

/// The same with the kernel looked up first, for the device of `args.input`.
QUANTJIT_API void per_token_group_quant(KernelService& service, const Descriptor& descriptor,
                                        const GroupQuantArgs& args, Stream stream);

/// Operands of per_token_quant: input [T, H] contiguous; output_q [rows >= T, H] contiguous e4m3;
/// output_s [rows] or [rows, 1] f32 contiguous, as many rows as output_q. H is positive and
/// divisible by 4; T is positive. Base pointers are aligned to 16 bytes (8 bytes for 16-bit input
/// where H is not divisible by 8).
struct TokenQuantArgs {
  TensorView input;     ///< read
  TensorView output_q;  ///< written: codes
  TensorView output_s;  ///< written: scales
};

/// Quantizes each row with one scale. Rows of the outputs beyond T keep their contents.
/// Throws: InvalidArgument before any CUDA call; DriverError.
QUANTJIT_API void per_token_quant(const Kernel& kernel, const TokenQuantArgs& args, Stream stream);
/// The same with the kernel looked up first, for the device of `args.input`.
QUANTJIT_API void per_token_quant(KernelService& service, const Descriptor& descriptor,
                                  const TokenQuantArgs& args, Stream stream);

/// Shape and strides of an output that does not exist yet.
struct TensorSpec {
  DType dtype = DType::kE4M3;                                ///< element type
  std::uint8_t ndim = 0;                                     ///< dimensions
  std::array<std::int64_t, TensorView::kMaxDims> shape{};    ///< in elements
  std::array<std::int64_t, TensorView::kMaxDims> strides{};  ///< in elements
  std::int64_t storage_elements = 0;                         ///< what to allocate, padding included

  /// What to allocate.
  [[nodiscard]] std::size_t storage_bytes() const {
    return static_cast<std::size_t>(storage_elements) * size_in_bytes(dtype);
  }

  /// The tensor over allocated storage.
  [[nodiscard]] QUANTJIT_API TensorView over(void* data, std::int32_t device = 0) const;
};

/// Both outputs of an operation.
struct OutputSpecs {
  TensorSpec q;  ///< codes
  TensorSpec s;  ///< scales
};

/// The outputs for an input, as the originals allocate them: q contiguous; row scales contiguous;
/// column scales with token stride 1 and a group (pack) stride of ceil(T / 4) * 4 rows, so that
/// columns are TMA-aligned (16 bytes). Throws: InvalidArgument for an input that does not fit the
/// traits.
QUANTJIT_API OutputSpecs output_specs(const Traits& traits, const TensorView& input);

/// The layout that SGLang's kernel infers from a scale tensor: row iff stride(-2) >= stride(-1). A
/// tensor with one token (or one group) fits both, and there this guess is the trap: an explicit
/// descriptor always wins, so infer only where no layout was given. Throws: InvalidArgument for
/// fewer than two dimensions.
QUANTJIT_API ScaleLayout infer_scale_layout(const TensorView& output_s);

/// Device memory that is released in stream order when it goes out of scope. Move-only.
class QUANTJIT_API DeviceTensor {
 public:
  DeviceTensor() = default;
  /// Allocates `spec.storage_bytes()` on `device` with cuMemAllocAsync on `stream`. Contents are
  /// undefined. Throws: InvalidArgument for a device that does not exist or a stream of another
  /// one, DriverError.
  DeviceTensor(KernelService& service, const TensorSpec& spec, int device, Stream stream);
  ~DeviceTensor();
  DeviceTensor(DeviceTensor&& other) noexcept;
  DeviceTensor& operator=(DeviceTensor&& other) noexcept;
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  /// The tensor; valid while this lives.
  [[nodiscard]] const TensorView& view() const { return view_; }

  /// Allocated bytes, padding included.
  [[nodiscard]] std::size_t storage_bytes() const { return storage_bytes_; }

 private:
  struct Owner;
  std::shared_ptr<Owner> owner_;
  TensorView view_{};
  std::size_t storage_bytes_ = 0;
};

/// Outputs of the allocating forms.
struct QuantizedTensors {
  DeviceTensor q;  ///< codes
  DeviceTensor s;  ///< scales
};

/// Allocates the outputs, then quantizes into them. `masked_m` and `expected_m` as in
/// GroupQuantArgs.
QUANTJIT_API QuantizedTensors per_token_group_quant(KernelService& service,
                                                    const Descriptor& descriptor,
                                                    const TensorView& input, Stream stream,
                                                    const TensorView& masked_m = {},
                                                    std::int64_t expected_m = 0);

/// The same for per_token_quant: q [T, H], s [T, 1].
QUANTJIT_API QuantizedTensors per_token_quant(KernelService& service, const Descriptor& descriptor,
                                              const TensorView& input, Stream stream);

}  // namespace quantjit
