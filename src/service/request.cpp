// SPDX-License-Identifier: Apache-2.0
#include "src/service/request.hpp"

#include "src/base/sha256.hpp"

#include <charconv>
#include <system_error>
#include <utility>

namespace quantjit::service {
void append_key_field(std::string& text, std::string_view label, std::string_view value) {
  text += label;
  text += ' ';
  text += std::to_string(value.size());
  text += ':';
  text += value;
  text += '\n';
}

std::vector<KeyField> parse_key_text(std::string_view text) {
  std::vector<KeyField> fields;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const std::size_t colon = text.find(':', blank == std::string_view::npos ? 0 : blank);
    if (blank == std::string_view::npos || colon == std::string_view::npos) {
      return {};
    }
    std::size_t length = 0;
    const char* const digits = text.data() + blank + 1;
    const auto [end, status] = std::from_chars(digits, text.data() + colon, length);
    const std::string_view rest = text.substr(colon + 1);
    if (status != std::errc{} || end != text.data() + colon || rest.size() <= length ||
        rest[length] != '\n') {
      return {};
    }
    fields.emplace_back(text.substr(0, blank), rest.substr(0, length));
    text = rest.substr(length + 1);
  }
  return fields;
}

Request make_request(const Descriptor& descriptor, const Arch& arch, MathMode preference,
                     CodeKind code, std::shared_ptr<const KernelSources> sources) {
  validate(descriptor.traits);
  Request request{.traits = descriptor.traits,
                  .traits_text = to_text(descriptor.traits),
                  .arch = arch,
                  .math = resolve_math(descriptor, arch, preference),
                  .code = code,
                  .specialization = {},
                  .sources = std::move(sources),
                  .closure = {},
                  .key_text = {},
                  .id = {}};
  request.specialization = specialize(request.traits, request.math, arch);
  request.closure = request.sources->closure(request.specialization.source);

  request.key_text = make_key_text(request);
  request.id = base::to_hex(base::sha256(request.key_text));
  return request;
}

std::string make_key_text(const Request& request, std::string_view schema) {
  std::string text;
  append_key_field(text, "schema", schema);
  append_key_field(text, "traits", request.traits_text);
  append_key_field(text, "math", to_string(request.math));
  append_key_field(text, "arch", request.arch.to_string());
  append_key_field(text, "code", to_string(request.code));
  for (const std::string& option : request.specialization.options) {
    append_key_field(text, "option", option);
  }
  for (const std::string& name : request.specialization.name_expressions) {
    append_key_field(text, "name", name);
  }
  for (const SourceFile* const file : request.closure) {
    append_key_field(text, "source", file->path + " sha256=" + file->sha256);
  }
  return text;
}

}  // namespace quantjit::service
