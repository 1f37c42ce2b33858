// SPDX-License-Identifier: Apache-2.0
#include "src/service/explain.hpp"

#include <limits>
#include <set>

namespace quantjit {
namespace service {
namespace {

constexpr std::string_view kAbsent = "(none)";

/// Splits "op:key=value,..." so that a difference names the trait, not the whole text.
void add_traits(std::map<std::string, std::string>& fields, std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  fields["op"] = text.substr(0, colon);
  text.remove_prefix(std::min(colon + 1, text.size()));
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view pair = text.substr(0, comma);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    fields["traits." + std::string(pair.substr(0, equals))] =
        pair.substr(std::min(equals + 1, pair.size()));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

std::vector<Explanation::Difference> differences(const std::map<std::string, std::string>& wanted,
                                                 const std::map<std::string, std::string>& found) {
  std::set<std::string> names;
  for (const auto* fields : {&wanted, &found}) {
    for (const auto& [name, value] : *fields) {
      names.insert(name);
    }
  }
  const auto value_in = [](const std::map<std::string, std::string>& fields,
                           const std::string& name) {
    const auto it = fields.find(name);
    return it == fields.end() ? std::string(kAbsent) : it->second;
  };
  std::vector<Explanation::Difference> differs;
  for (const std::string& name : names) {
    if (std::string want = value_in(wanted, name), have = value_in(found, name); want != have) {
      differs.push_back({name, std::move(want), std::move(have)});
    }
  }
  return differs;
}

std::string toolchain_name(Toolchain& toolchain) {
  const Toolchain::Found* const found = toolchain.find();
  return found != nullptr ? found->identity.short_form() : std::string(kAbsent);
}

}  // namespace

std::map<std::string, std::string> comparable_fields(std::string_view key_text) {
  std::map<std::string, std::string> fields;
  std::map<std::string, int> seen;
  for (const auto& [label, value] : parse_key_text(key_text)) {
    if (label == "traits") {
      add_traits(fields, value);
    } else if (label == "source") {
      const std::size_t blank = std::min(value.rfind(' '), value.size());
      fields["source " + value.substr(0, blank)] = value.substr(std::min(blank + 1, value.size()));
    } else if (label == "option" || label == "name") {
      fields[label + "[" + std::to_string(seen[label]++) + "]"] = value;
    } else {
      fields[label] = value;
    }
  }
  return fields;
}

Explanation explain_miss(KernelService::Body& body, const Request& request) {
  auto wanted = comparable_fields(request.key_text);
  wanted["toolchain"] = toolchain_name(body.toolchain);
  Explanation explanation{.traits = request.traits_text,
                          .arch = request.arch,
                          .key = cache::EntryKey{request.id, wanted["toolchain"]}.name(),
                          .key_text = request.key_text,
                          .hit = false,
                          .path = {},
                          .nearest_key = {},
                          .differs = {}};
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const cache::ListedHead& listed : body.store.list_heads()) {
    auto fields = comparable_fields(listed.head.key_text);
    fields["toolchain"] = listed.head.key.toolchain;
    auto differs = differences(wanted, fields);
    if (differs.size() < fewest) {
      fewest = differs.size();
      explanation.nearest_key = listed.head.key.name();
      explanation.differs = std::move(differs);
    }
  }
  return explanation;
}

}  // namespace service

Explanation KernelService::explain(const Descriptor& descriptor, const Arch& arch) {
  Body& body = *body_;
  const service::Request request = body.request_for(descriptor, arch);
  if (const service::ImagePointer image = body.lookup(request)) {
    return {.traits = request.traits_text,
            .arch = arch,
            .key = image->info.key,
            .key_text = request.key_text,
            .hit = true,
            .path = image->info.path,
            .nearest_key = {},
            .differs = {}};
  }
  return service::explain_miss(body, request);
}

}  // namespace quantjit
