// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/cache_subject.hpp"
#include "tools/cli/image_report.hpp"
#include "tools/cli/json_writer.hpp"

#include <fmt/format.h>

namespace quantjit::cli {
namespace {

Value texts(const std::vector<std::string>& keys) {
  return array_of(keys, [](const std::string& key) -> Value { return key; });
}

int list_pins(Console& console, CacheAdmin& cache) {
  const std::vector<std::string> pins = cache.pins();
  console.document(Value::Object{{"pins", texts(pins)}});
  for (const std::string& key : pins) {
    console.line(key);
  }
  console.line(fmt::format("{} pinned", pins.size()));
  return 0;
}

}  // namespace

int set_pins(Context& context, CacheAdmin& cache, const CacheOptions& options) {
  const bool pinning = options.action == CacheAction::kPin;
  if (options.subject.empty() && options.manifest.empty()) {
    if (pinning) {
      return list_pins(context.console, cache);
    }
    throw InvalidArgument("KEY", "missing", "name a key, a trait text or --manifest");
  }
  const std::vector<std::string> keys = find_keys(cache, options);
  std::size_t changed = 0;
  for (const std::string& key : keys) {
    const bool done = pinning ? cache.pin(key) : cache.unpin(key);
    if (pinning && !done) {
      throw CommandFailure("the key " + key +
                           " cannot be pinned, because no cache root can be written");
    }
    changed += done ? 1 : 0;
    context.console.line(short_key(key));
  }
  context.console.document(Value::Object{{"keys", texts(keys)}, {"pins", texts(cache.pins())}});
  context.console.line(
      fmt::format("{} {}", changed, pinning ? "pinned" : "of them were pinned and are no longer"));
  return 0;
}

}  // namespace quantjit::cli
