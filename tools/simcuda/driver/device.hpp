// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../memory.hpp"
#include "api.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::simdriver {

class Context;

/// The CUDA version that this driver implements: 1000 * major + 10 * minor.
constexpr int kDriverVersion = 13000;

/// What an arch's device answers to queries.
struct ArchSpec {
  const char* arch;  ///< "sm_90a"
  unsigned sm;       ///< 90, 100, 120: ten times the compute capability
  const char* name;
  std::uint64_t memory_mib;
  int multiprocessors;
  int l2_bytes;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int threads_per_sm;
  int blocks_per_sm;
  int shared_per_sm;     ///< bytes
  int shared_per_block;  ///< bytes with opt-in
  int pci_device_id;
};

/// Null when the simulator does not know the arch; "sm_90" means the same device as "sm_90a".
[[nodiscard]] const ArchSpec* find_arch(std::string_view arch);

/// A comma list of the archs that find_arch knows.
[[nodiscard]] std::string known_archs();

/// The value of a device attribute; nullopt for one that CUDA 13.0 does not have.
[[nodiscard]] std::optional<int> arch_attribute(const ArchSpec& spec, int attribute);

/// An allocation's owner and what its user asked for.
struct AllocationOwner {
  std::uint64_t bytes = 0;
  CUcontext context = nullptr;
};

/// One simulated GPU. Devices live as long as the process.
class Device {
 public:
  /// `slot` is the position in QUANTJIT_SIM_DEVICES: identity and addresses follow it, the ordinal
  /// follows CUDA_VISIBLE_DEVICES.
  Device(const ArchSpec& spec, int slot);

  /// Whether `address` can only belong to this device.
  [[nodiscard]] bool spans(CUdeviceptr address) const;
  /// Allocates for a context; 0 when the memory is full.
  CUdeviceptr allocate(std::uint64_t bytes, CUcontext context);
  /// False when `address` is not the start of a live allocation.
  bool release(CUdeviceptr address);
  /// Frees whatever a context still holds.
  void release_all(CUcontext context);
  /// The live allocation that holds `address`: its start and owner.
  [[nodiscard]] std::optional<std::pair<CUdeviceptr, AllocationOwner>> owner(
      CUdeviceptr address) const;
  [[nodiscard]] CUuuid uuid() const;
  [[nodiscard]] std::string pci_bus_id() const;

  const ArchSpec& spec;
  const int slot;
  int ordinal = 0;
  sim::Memory memory;
  /// Held while kernels of this device execute: one grid chain at a time keeps results
  /// reproducible.
  std::mutex execution;

  /// Guards the two members below.
  std::mutex primary_mutex;
  int primary_references = 0;
  CUcontext primary = nullptr;

 private:
  mutable std::mutex owners_mutex_;
  std::map<CUdeviceptr, AllocationOwner> owners_;
};

/// The device of an ordinal; fails with CUDA_ERROR_INVALID_DEVICE, or when not initialized.
[[nodiscard]] Device& device_at(int ordinal);

/// The visible devices in ordinal order; fails when the driver is not initialized.
[[nodiscard]] const std::vector<Device*>& visible_devices();

/// The device whose address range holds `address`, or null.
[[nodiscard]] Device* device_of(CUdeviceptr address);

/// Reads the environment and creates the devices, once. Later calls return the first call's answer.
CUresult initialize_driver();

/// Fails with CUDA_ERROR_NOT_INITIALIZED before cuInit and in a child process forked after it.
void require_initialized();

}  // namespace quantjit::simdriver
