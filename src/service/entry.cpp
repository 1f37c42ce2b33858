// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.hpp"
#include "src/base/sha256.hpp"
#include "src/service/body.hpp"
#include "src/service/image_builder.hpp"

#include <quantjit/entry.hpp>
#include <quantjit/error.hpp>

#include <mutex>
#include <utility>

namespace quantjit {
namespace {

service::Request request_of(KernelService::Body& body, const EntryQuery& query) {
  const CodeKind wanted = query.code != CodeKind::kAuto ? query.code : body.options.code;
  return make_request(query.descriptor, query.arch, body.options.math,
                      wanted == CodeKind::kAuto ? CodeKind::kCubin : wanted, body.sources());
}

EntryBytes to_bytes(const service::Request& request, const service::Fetched& fetched) {
  const cache::Entry entry = to_entry(request, *fetched.image);
  if (!serializable(entry)) {
    throw Error("the entry of " + request.traits_text +
                " is beyond the limits of the cache format, so it cannot be handed on");
  }
  return {.key = entry.key.name(), .source = fetched.source, .bytes = serialize(entry)};
}

bool is_request(std::string_view text) {
  return text.size() == 64 && cache::EntryKey{std::string(text), std::string(16, '0')}.valid();
}

/// An entry of exactly this key; nothing unless its key text is what its key was made of.
std::optional<EntryBytes> read_exactly(cache::CubinStore& store, const cache::EntryKey& key) {
  const cache::LookupResult seen = store.peek(key);
  if (!seen.found() || base::to_hex(base::sha256(seen.entry->key_text)) != key.request) {
    return std::nullopt;
  }
  // A second look that counts as a use, so that what is asked for over and over is not evicted.
  const cache::LookupResult used = store.lookup(key, seen.entry->key_text);
  return EntryBytes{.key = key.name(),
                    .source = ImageSource::kDisk,
                    .bytes = serialize(used.found() ? *used.entry : *seen.entry)};
}

}  // namespace

EntryId identify_entry(KernelService& service, const EntryQuery& query) {
  KernelService::Body& body = service.body();
  const service::Toolchain::Found* const found = body.toolchain.find();
  return {.request = request_of(body, query).id,
          .toolchain = found != nullptr ? found->identity.short_form() : std::string()};
}

std::optional<EntryBytes> find_entry(KernelService& service, const EntryQuery& query) {
  KernelService::Body& body = service.body();
  const service::Request request = request_of(body, query);
  service::Fetched fetched{body.find_image(request.id), ImageSource::kMemory};
  if (fetched.image == nullptr) {
    fetched = {body.lookup(request), ImageSource::kDisk};
  }
  if (fetched.image == nullptr) {
    return std::nullopt;
  }
  body.counters.requests.fetch_add(1, std::memory_order_relaxed);
  (fetched.source == ImageSource::kMemory ? body.counters.memory_hits : body.counters.disk_hits)
      .fetch_add(1, std::memory_order_relaxed);
  return to_bytes(request, fetched);
}

EntryBytes get_entry(KernelService& service, const EntryQuery& query) {
  KernelService::Body& body = service.body();
  body.counters.requests.fetch_add(1, std::memory_order_relaxed);
  service::Request request = request_of(body, query);
  request.origin = query.at_once ? service::Origin::kUrgentOrder : service::Origin::kOrder;
  body.note(query.descriptor, query.arch);
  const service::Fetched fetched = body.fetch(request);
  EntryBytes entry = to_bytes(request, fetched);
  if (!fetched.image->info.path.empty()) {
    const std::unique_lock lock(body.images_mutex);
    body.images.erase(request.id);
  }
  return entry;
}

std::optional<EntryBytes> read_entry(KernelService& service, std::string_view key) {
  cache::CubinStore& store = service.body().store;
  if (is_request(key)) {
    for (const cache::EntryKey& candidate : store.keys_of(std::string(key))) {
      if (std::optional<EntryBytes> entry = read_exactly(store, candidate)) {
        return entry;
      }
    }
    return std::nullopt;
  }
  const std::optional<cache::EntryKey> exact = cache::EntryKey::parse(key);
  if (!exact || exact->name() != key) {
    throw InvalidArgument("key", "\"" + std::string(key.substr(0, 100)) + "\"",
                          "it must be <64 hexadecimal digits>, with or without -<16 hexadecimal "
                          "digits> of a toolchain");
  }
  return read_exactly(store, *exact);
}

bool warm_compiler(KernelService& service) {
  const service::Toolchain::Found* const found = service.body().toolchain.find();
  if (found == nullptr) {
    return false;
  }
  try {
    nvrtc::CompileRequest request;
    request.source = {"warm.cuh", "extern \"C\" __global__ void warm() {}\n"};
    request.name_expressions = {"warm"};
    request.arch = Arch::parse("sm_90a");
    request.kind = nvrtc::CodeKind::kCubin;
    static_cast<void>(found->compiler->compile(request));
    return true;
  } catch (const Error& error) {
    base::log_warn(std::string("NVRTC does not work: ") + error.what());
    return false;
  }
}

}  // namespace quantjit
