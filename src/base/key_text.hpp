// SPDX-License-Identifier: Apache-2.0
// Key texts: labelled, length-prefixed fields, one a line. They are what a request's key is the
// hash of, and every stored entry carries its own.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quantjit::base {

/// One field of a key text: label and value.
using KeyField = std::pair<std::string, std::string>;

/// Appends `label length:value\n`: the length keeps neighbouring fields apart whatever they hold.
void append_key_field(std::string& text, std::string_view label, std::string_view value);
/// Splits a key text into its fields; empty if it is not one.
[[nodiscard]] std::vector<KeyField> parse_key_text(std::string_view text);

}  // namespace quantjit::base
