// SPDX-License-Identifier: Apache-2.0
#include "src/serve/http_head.hpp"

#include <charconv>
#include <cstring>
#include <microhttpd.h>
#include <strings.h>

namespace quantjit::serve {

const char* header(MHD_Connection* connection, const char* name) {
  return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

std::uint64_t content_length(MHD_Connection* connection) {
  const char* const text = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
  std::uint64_t length = 0;
  if (text != nullptr) {
    std::from_chars(text, text + std::strlen(text), length);
  }
  return length;
}

bool has_two_lengths(MHD_Connection* connection) {
  const auto count = [](void* found, MHD_ValueKind, const char* name, const char*) {
    const bool is_length = ::strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0 ||
                           ::strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
    *static_cast<int*>(found) += is_length ? 1 : 0;
    return MHD_YES;
  };
  int found = 0;
  MHD_get_connection_values(connection, MHD_HEADER_KIND, count, &found);
  return found > 1;
}

}  // namespace quantjit::serve
