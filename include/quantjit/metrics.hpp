// SPDX-License-Identifier: Apache-2.0
// A service's statistics for Prometheus and what reads its text format.
#pragma once

#include <quantjit/export.hpp>
#include <quantjit/service.hpp>

#include <string>

namespace quantjit {

/// The counters of a service in the Prometheus text format, version 0.0.4
/// (`text/plain; version=0.0.4`): families named `quantjit_*`, each with HELP and TYPE. Names,
/// types and labels keep their meaning between versions; more may be added.
///
/// Requests and hits by tier, compiles, their failures and a histogram of their seconds, waits,
/// rejected entries, what could not be stored, misses of sealed services and captures, and by
/// device (label `device`, those that were asked for) requests, hits, loads and loaded kernels; by
/// remote tier (labels `tier`, its name without secrets, and `place` in lookup order) what
/// RemoteTierStats has.
/// Thread safe; takes no lock that a request holds for long.
[[nodiscard]] QUANTJIT_API std::string prometheus_text(const KernelService& service);

}  // namespace quantjit
