// SPDX-License-Identifier: Apache-2.0
// The JSON texts of the C ABI; their members are listed in quantjit/quantjit.h.
#pragma once

#include <quantjit/kernel.hpp>
#include <quantjit/prewarm.hpp>
#include <quantjit/qj_types.h>
#include <quantjit/service.hpp>
#include <quantjit/traits.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::capi {

/// What qj_device_info() tells.
struct DeviceReport {
  int ordinal = 0;
  std::string name;
  Arch arch;
  int sm_count = 0;
  std::uint64_t memory_bytes = 0;
  int driver_version = 0;
  bool simulated = false;
  int devices = 0;
};

std::string error_json(qj_status status, const std::exception& error);
std::string operations_json(const std::vector<OpInfo>& operations);
std::string stats_json(const ServiceStats& stats);
std::string remote_stats_json(const std::vector<RemoteTierStats>& tiers);
std::string device_stats_json(const DeviceStats& stats);
std::string device_json(const DeviceReport& device);
std::string explanation_json(const Explanation& explanation);
std::string prewarm_json(const PrewarmReport& report);
std::string kernel_json(const ImageInfo& info, std::size_t code_bytes, int device);
std::string image_json(const ImageInfo& info, std::size_t code_bytes, ImageSource source);

}  // namespace quantjit::capi
