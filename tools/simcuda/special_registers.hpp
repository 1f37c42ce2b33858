// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace quantjit::sim {

/// Op::detail of "$special".
enum class Special : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNwarpId,
  kSmId,
  kNsmId,
  kGridId,
  kClock,
  kClockHi,
  kClock64,
  kGlobalTimer,
  kGlobalTimerLo,
  kGlobalTimerHi,
  kLaneMaskEq,
  kLaneMaskLe,
  kLaneMaskLt,
  kLaneMaskGe,
  kLaneMaskGt,
  kDynamicShared,
  kTotalShared,
  kZero,
  kOne
};

struct SpecialRegister {
  std::string_view name;
  Special which;
  unsigned bits;
};

/// Clusters are never used, so that their registers are those of a cluster of one CTA.
inline constexpr SpecialRegister kSpecialRegisters[] = {
    {"%tid.x", Special::kTidX, 32},
    {"%tid.y", Special::kTidY, 32},
    {"%tid.z", Special::kTidZ, 32},
    {"%ntid.x", Special::kNtidX, 32},
    {"%ntid.y", Special::kNtidY, 32},
    {"%ntid.z", Special::kNtidZ, 32},
    {"%ctaid.x", Special::kCtaidX, 32},
    {"%ctaid.y", Special::kCtaidY, 32},
    {"%ctaid.z", Special::kCtaidZ, 32},
    {"%nctaid.x", Special::kNctaidX, 32},
    {"%nctaid.y", Special::kNctaidY, 32},
    {"%nctaid.z", Special::kNctaidZ, 32},
    {"%laneid", Special::kLaneId, 32},
    {"%warpid", Special::kWarpId, 32},
    {"%nwarpid", Special::kNwarpId, 32},
    {"%smid", Special::kSmId, 32},
    {"%nsmid", Special::kNsmId, 32},
    {"%gridid", Special::kGridId, 64},
    {"%clock", Special::kClock, 32},
    {"%clock_hi", Special::kClockHi, 32},
    {"%clock64", Special::kClock64, 64},
    {"%globaltimer", Special::kGlobalTimer, 64},
    {"%globaltimer_lo", Special::kGlobalTimerLo, 32},
    {"%globaltimer_hi", Special::kGlobalTimerHi, 32},
    {"%lanemask_eq", Special::kLaneMaskEq, 32},
    {"%lanemask_le", Special::kLaneMaskLe, 32},
    {"%lanemask_lt", Special::kLaneMaskLt, 32},
    {"%lanemask_ge", Special::kLaneMaskGe, 32},
    {"%lanemask_gt", Special::kLaneMaskGt, 32},
    {"%dynamic_smem_size", Special::kDynamicShared, 32},
    {"%total_smem_size", Special::kTotalShared, 32},
    {"%cluster_ctarank", Special::kZero, 32},
    {"%cluster_nctarank", Special::kOne, 32},
    {"%cluster_ctaid.x", Special::kZero, 32},
    {"%cluster_ctaid.y", Special::kZero, 32},
    {"%cluster_ctaid.z", Special::kZero, 32},
    {"%cluster_nctaid.x", Special::kOne, 32},
    {"%cluster_nctaid.y", Special::kOne, 32},
    {"%cluster_nctaid.z", Special::kOne, 32},
    {"%clusterid.x", Special::kCtaidX, 32},
    {"%clusterid.y", Special::kCtaidY, 32},
    {"%clusterid.z", Special::kCtaidZ, 32},
    {"%nclusterid.x", Special::kNctaidX, 32},
    {"%nclusterid.y", Special::kNctaidY, 32},
    {"%nclusterid.z", Special::kNctaidZ, 32},
};

}  // namespace quantjit::sim
