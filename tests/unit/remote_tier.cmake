# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources remote_breaker.cpp remote_lease.cpp remote_tier.cpp remote_writer.cpp
  service_fleet.cpp service_remote.cpp)
