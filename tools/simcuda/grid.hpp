// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fault.hpp"
#include "memory.hpp"
#include "module.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace quantjit::sim {

/// A module's variables, placed in one device's memory. Freed with the last reference, so the
/// memory must outlive it.
class Image {
 public:
  /// Allocates and initializes every variable. Throws std::bad_alloc when the memory is full.
  Image(std::shared_ptr<const Module> module, Memory& memory);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  [[nodiscard]] const Module& module() const { return *module_; }

  /// The device address of a variable, 0 when there is none of that name.
  [[nodiscard]] std::uint64_t address(std::string_view name) const;

  /// Addresses in the order of Module::variables().
  [[nodiscard]] const std::vector<std::uint64_t>& addresses() const { return addresses_; }

 private:
  std::shared_ptr<const Module> module_;
  Memory& memory_;
  std::vector<std::uint64_t> addresses_;
};

struct GridOptions {
  std::uint64_t seed = 0;
  unsigned workers = 0;  ///< host threads; 0: one per core
  /// Launched with programmatic serialization: accesses before griddepcontrol.wait are recorded.
  bool dependent = false;
  bool check_initialized = true;
  bool check_races = true;
  std::uint64_t lane_instruction_limit = 0;  ///< a kTimeout fault beyond it; 0: none
  std::uint32_t sm_count = 132;              ///< only for %nsmid and %smid
};

/// A global access by a thread that had not passed griddepcontrol.wait. Neighbouring accesses of
/// one warp instruction are merged.
struct EarlyAccess {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  bool write = false;
  Dim3 block{0, 0, 0};
  Dim3 thread{0, 0, 0};
  unsigned ptx_line = 0;
};

struct GridStats {
  std::uint64_t lane_instructions = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t ctas = 0;
  double seconds = 0;  ///< wall time spent inside run and run_until_dependency_wait
};

/// One launch of one kernel.
///
/// Not thread-safe: one thread drives a Grid. Different grids may run at the same time on one
/// Memory if their accesses do not conflict.
class Grid {
 public:
  /// `parameters` is the kernel's parameter block (Kernel::parameter_bytes long). Throws FaultError
  /// (kBadLaunch) when the geometry or the parameter size does not fit the kernel.
  Grid(std::shared_ptr<const Image> image, const Kernel& kernel, Dim3 grid, Dim3 block,
       std::uint32_t dynamic_shared_bytes, std::vector<std::uint8_t> parameters, Memory& memory,
       const GridOptions& options = {});
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  /// Starts a seeded random subset of the CTAs (about `fraction` of them, `limit` at most: they
  /// stay resident) and executes each up to its first griddepcontrol.wait, where it is suspended.
  /// CTAs that finish without waiting are finished. May be called once, before run().
  void run_until_dependency_wait(double fraction, std::size_t limit = 64);

  /// Executes everything that is left. The first fault (also one met before the wait) ends the
  /// launch and is returned; memory then holds whatever was stored until there.
  [[nodiscard]] std::optional<Fault> run();

  /// Every recorded early access, in no particular order; at most `kMaxEarlyAccesses`.
  [[nodiscard]] const std::vector<EarlyAccess>& early_accesses() const;
  static constexpr std::size_t kMaxEarlyAccesses = 65536;
  /// A fault that describes `access` as a conflict with `predecessor`, for the caller to raise.
  [[nodiscard]] Fault early_access_fault(const EarlyAccess& access,
                                         std::string_view predecessor) const;
  /// CTAs in which some thread exited and no thread ever executed griddepcontrol.wait
  /// (only counted with GridOptions::dependent).
  [[nodiscard]] std::uint64_t ctas_without_wait() const;
  /// A fault that names one of them, for the caller to raise. Only when ctas_without_wait() > 0.
  [[nodiscard]] Fault missing_wait_fault() const;
  /// Whether any CTA executed griddepcontrol.launch_dependents.
  [[nodiscard]] bool launched_dependents() const;
  /// Whether this grid was the last to write any of these bytes.
  [[nodiscard]] bool wrote(std::uint64_t address, std::uint64_t bytes) const;

  [[nodiscard]] const GridStats& stats() const;
  [[nodiscard]] const Kernel& kernel() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quantjit::sim
