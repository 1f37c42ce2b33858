# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources io_manifest.cpp io_trace.cpp service_prewarm.cpp service_recorder.cpp service_seal.cpp
  service_worker_pool.cpp)
