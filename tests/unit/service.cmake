# SPDX-License-Identifier: Apache-2.0
list(APPEND quantjit_unit_sources service_entry.cpp service_key.cpp service_metrics.cpp service_request.cpp service_single_flight.cpp service_sources.cpp)
list(APPEND quantjit_unit_sources "${PROJECT_SOURCE_DIR}/tests/support/exposition_reader.cpp")
