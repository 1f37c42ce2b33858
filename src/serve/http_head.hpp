// SPDX-License-Identifier: Apache-2.0
// Of the head of a request what the answer depends on.
#pragma once

#include <cstdint>

struct MHD_Connection;

namespace quantjit::serve {

/// The value of a header; null if there is none.
const char* header(MHD_Connection* connection, const char* name);

/// As announced; 0 if it is not.
std::uint64_t content_length(MHD_Connection* connection);

/// Whether a proxy may take another part of what the client sends for the body.
bool has_two_lengths(MHD_Connection* connection);

}  // namespace quantjit::serve
