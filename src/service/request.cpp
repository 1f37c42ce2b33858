// SPDX-License-Identifier: Apache-2.0
#include "src/service/request.hpp"

#include "src/base/sha256.hpp"
#include "src/traits/custom.hpp"

#include <map>
#include <utility>

namespace quantjit::service {
namespace {

std::shared_ptr<const KernelSources> with_files_of(const KernelSources& sources,
                                                   const Source& source) {
  std::map<std::string, std::string> texts{{source.path, source.text}};
  for (const SourceInclude& include : source.includes) {
    texts.emplace(include.path, include.text);
  }
  return sources.with(texts);
}

}  // namespace

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
                  .id = {},
                  .origin = Origin::kHere};
  if (const auto* const custom = std::get_if<CustomTraits>(&request.traits)) {
    request.sources = with_files_of(*request.sources, custom->operation->source);
  }
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

std::string portable_text(const Traits& traits, MathMode math, const Arch& arch) {
  const bool by_itself = resolve_math({traits, MathMode::kAuto}, arch) == math;
  return to_text(Descriptor{traits, by_itself ? MathMode::kAuto : math});
}

}  // namespace quantjit::service
