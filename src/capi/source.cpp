// SPDX-License-Identifier: Apache-2.0
// Kernels of the caller.
#include "src/capi/guard.hpp"
#include "src/capi/handles.hpp"
#include "src/capi/text.hpp"

#include <quantjit/quantjit.h>
#include <quantjit/source.hpp>

#include <string>
#include <utility>

using namespace quantjit;
using namespace quantjit::capi;

namespace {

std::string string_of(const qj_text& text, const char* name) {
  return std::string(view_of(text, name));
}

SourceKey key_of(const qj_source_key& given) {
  SourceKey key{string_of(given.key, "source.keys.key"), {}};
  for (const qj_source_value& value :
       array_of(given.values, given.num_values, "source.keys.values")) {
    key.values.push_back({string_of(value.value, "source.keys.values.value"),
                          string_of(value.argument, "source.keys.values.argument")});
  }
  return key;
}

SourceEntry entry_of(const qj_source_entry& given) {
  SourceEntry entry{string_of(given.function, "source.entries.function"), {}};
  for (const qj_text& argument :
       array_of(given.arguments, given.num_arguments, "source.entries.arguments")) {
    entry.arguments.push_back(string_of(argument, "source.entries.arguments"));
  }
  return entry;
}

Source source_of(const qj_source& given) {
  Source source{.op = string_of(given.op, "source.op"),
                .path = string_of(given.path, "source.path"),
                .text = string_of(given.text, "source.text"),
                .file = string_of(given.file, "source.file"),
                .entries = {},
                .parameter_bytes = given.parameter_bytes,
                .dynamic_shared_bytes = given.dynamic_shared_bytes,
                .fmad = given.fmad != 0};
  for (const qj_source_file& file :
       array_of(given.includes, given.num_includes, "source.includes")) {
    source.includes.push_back({string_of(file.path, "source.includes.path"),
                               string_of(file.text, "source.includes.text")});
  }
  for (const qj_source_key& key : array_of(given.keys, given.num_keys, "source.keys")) {
    source.keys.push_back(key_of(key));
  }
  for (const qj_source_entry& entry :
       array_of(given.entries, given.num_entries, "source.entries")) {
    source.entries.push_back(entry_of(entry));
  }
  return source;
}

}  // namespace

qj_status qj_register_source(qj_service* service, const qj_source* source) {
  return guard([&] {
    require(service, "service");
    service->service.register_source(source_of(read_struct(source, "source")));
  });
}

qj_status qj_launch_raw(const qj_kernel* kernel, const qj_raw_launch* how, void* stream) {
  return guard([&] {
    require(kernel, "kernel");
    const qj_raw_launch given = read_struct(how, "launch");
    launch(kernel->kernel,
           {.grid = {given.grid[0], given.grid[1], given.grid[2]},
            .block = {given.block[0], given.block[1], given.block[2]},
            .shared_bytes = given.shared_bytes,
            .entry = given.entry},
           given.parameters, given.parameter_bytes, static_cast<Stream>(stream));
  });
}
