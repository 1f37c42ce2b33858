// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace quantjit::sim {

/// Three extents or three indices, as CUDA orders them.
struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  /// x * y * z, without overflow for every legal grid.
  [[nodiscard]] std::uint64_t count() const { return std::uint64_t{x} * y * z; }

  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// What a simulated kernel did wrong.
enum class FaultKind : std::uint8_t {
  kOutOfBounds,         ///< outside every allocation, or across the end of one
  kMisaligned,          ///< address not a multiple of the access width
  kUninitializedRead,   ///< global or shared bytes nobody wrote
  kFreedMemory,         ///< inside an allocation that was freed
  kReadOnly,            ///< store to .const or kernel parameter memory
  kBarrier,             ///< a barrier that live threads of the CTA do not reach
  kInactiveLane,        ///< a warp-level operation that names or reads an inactive lane
  kRace,                ///< unordered conflicting accesses of two threads
  kTrap,                ///< the kernel executed `trap`
  kIllegalInstruction,  ///< operands that the ISA leaves undefined
  kBadLaunch,           ///< launch geometry or arguments that the kernel cannot take
  kTimeout,             ///< the instruction limit was reached
};

/// The kind as an identifier, for example "out_of_bounds".
[[nodiscard]] const char* to_string(FaultKind kind);

/// "(x,y,z)".
[[nodiscard]] std::string to_string(const Dim3& dim);

/// One finding, with everything needed to locate it.
struct Fault {
  FaultKind kind{};
  std::string kernel;
  Dim3 block{0, 0, 0};   ///< ctaid of the offending thread
  Dim3 thread{0, 0, 0};  ///< tid of the offending thread
  unsigned ptx_line = 0;
  std::string ptx_text;
  std::uint64_t address = 0;  ///< device (or shared window) address, 0 where none applies
  std::string allocation;     ///< the allocation hit or nearest, with the distance to it
  std::string message;        ///< one complete sentence that repeats the facts above
};

/// Carries a Fault out of the interpreter.
class FaultError : public std::exception {
 public:
  explicit FaultError(Fault fault) : fault_(std::move(fault)) {}

  [[nodiscard]] const char* what() const noexcept override { return fault_.message.c_str(); }

  [[nodiscard]] const Fault& fault() const noexcept { return fault_; }

 private:
  Fault fault_;
};

}  // namespace quantjit::sim
