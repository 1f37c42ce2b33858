// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/import.hpp"
#include "src/bundle/reader.hpp"
#include "src/bundle/signature.hpp"
#include "src/bundle/writer.hpp"
#include "src/service/body.hpp"
#include "src/service/listing.hpp"
#include "src/service/request.hpp"

#include <quantjit/bundle.hpp>
#include <quantjit/error.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

namespace quantjit {
namespace {

using Missing = BundleExportReport::Missing;

BundleEntry to_public(const bundle::IndexEntry& entry) {
  return {.key = entry.key.name(),
          .traits = entry.traits,
          .arch = entry.arch,
          .math = entry.math,
          .code_kind = entry.code_kind,
          .bytes = entry.bytes,
          .packed_bytes = entry.packed_bytes,
          .sha256 = entry.sha256};
}

std::vector<BundleProblem> to_public(const std::vector<bundle::EntryProblem>& problems) {
  std::vector<BundleProblem> result;
  result.reserve(problems.size());
  for (const bundle::EntryProblem& problem : problems) {
    result.push_back({to_public(problem.entry), problem.reason});
  }
  return result;
}

BundleSignature to_public(bundle::SignatureStatus status) {
  switch (status) {
    case bundle::SignatureStatus::kNone: return BundleSignature::kNone;
    case bundle::SignatureStatus::kUnchecked: return BundleSignature::kUnchecked;
    case bundle::SignatureStatus::kConsistent: return BundleSignature::kConsistent;
    case bundle::SignatureStatus::kTrusted: break;
  }
  return BundleSignature::kTrusted;
}

BundleInfo describe(const bundle::Reader& reader, bundle::SignatureStatus signature) {
  const bundle::Header& header = reader.header();
  BundleInfo info{.path = reader.name(),
                  .format = bundle::kFormatVersion,
                  .bytes = header.file_bytes,
                  .unpacked_bytes = 0,
                  .index_sha256 = base::to_hex(header.index_sha256),
                  .signature = to_public(signature),
                  .signer = header.signature ? base::to_hex(header.signature->key) : std::string(),
                  .archs = reader.archs(),
                  .entries = {}};
  for (const bundle::IndexEntry& entry : reader.entries()) {
    info.unpacked_bytes += entry.bytes;
    info.entries.push_back(to_public(entry));
  }
  return info;
}

/// Links on the way are followed: whoever names a file means what it leads to.
bundle::Reader open(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return bundle::Reader(
      bundle::open_file(cache::posix_file_system(), error ? path : real.string()).source);
}

std::optional<bundle::PublicKey> wanted_key(const std::string& file) {
  return file.empty() ? std::nullopt : std::optional(bundle::read_public_key(file));
}

std::vector<std::string> to_texts(const std::vector<Arch>& archs) {
  std::vector<std::string> texts;
  texts.reserve(archs.size());
  for (const Arch& arch : archs) {
    texts.push_back(arch.to_string());
  }
  return texts;
}

/// Keys of what shall be exported, in ascending order, and what is not there.
struct Selection {
  std::vector<cache::EntryKey> keys;
  std::vector<Missing> missing;
};

std::string arch_of(std::string_view key_text) {
  for (const auto& [label, value] : service::parse_key_text(key_text)) {
    if (label == "arch") {
      return value;
    }
  }
  return {};
}

Selection select_all(KernelService::Body& body, const std::vector<std::string>& archs) {
  Selection selection;
  std::map<std::string, bool> present;
  for (const std::string& arch : archs) {
    present[arch] = false;
  }
  for (service::StoredEntry& entry : service::list_entries(body.store)) {
    const std::string entry_arch = arch_of(entry.key_text);
    const auto arch = present.find(entry_arch);
    if (arch != present.end()) {
      arch->second = true;
    }
    // A damaged one is taken along: whoever reads it next says so.
    if (archs.empty() || arch != present.end() || entry_arch.empty()) {
      selection.keys.push_back(std::move(entry.listed.key));
    }
  }
  for (const auto& [arch, is_present] : present) {
    if (!is_present) {
      selection.missing.push_back({{}, arch});
    }
  }
  return selection;
}

Selection select_requests(KernelService::Body& body, const std::vector<PrewarmItem>& requests) {
  Selection selection;
  for (const PrewarmItem& wanted : requests) {
    const service::Request request = body.request_for(wanted.descriptor, wanted.arch);
    const service::ImagePointer image = body.lookup(request);
    const std::optional<cache::EntryKey> key =
        image ? cache::EntryKey::parse(image->info.key) : std::nullopt;
    if (key) {
      selection.keys.push_back(*key);
    } else {
      selection.missing.push_back({request.traits_text, wanted.arch.to_string()});
    }
  }
  return selection;
}

void check_options(const BundleExport& what) {
  if (what.path.empty()) {
    throw InvalidArgument("path", "\"\"", "it must name the file to write");
  }
  if (what.all != what.requests.empty()) {
    throw InvalidArgument("requests", std::to_string(what.requests.size()) + " descriptors",
                          "give either what to export, or that it is all");
  }
}

}  // namespace

std::string_view to_string(BundleSignature signature) {
  switch (signature) {
    case BundleSignature::kNone: return "none";
    case BundleSignature::kUnchecked: return "unchecked";
    case BundleSignature::kConsistent: return "consistent";
    case BundleSignature::kTrusted: break;
  }
  return "trusted";
}

BundleExportReport export_bundle(KernelService& service, const BundleExport& what) {
  check_options(what);
  KernelService::Body& body = service.body();
  Selection selection =
      what.all ? select_all(body, to_texts(what.archs)) : select_requests(body, what.requests);
  BundleExportReport report;
  report.missing = std::move(selection.missing);
  if (!report.missing.empty()) {
    return report;
  }
  std::vector<cache::EntryKey>& keys = selection.keys;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  if (keys.empty()) {
    throw Error("nothing can be exported to " + what.path +
                " because the cache is empty; fill it with quantjit prewarm");
  }
  bundle::Writer writer(cache::posix_file_system(), what.path);
  for (const cache::EntryKey& key : keys) {
    const cache::LookupResult found = body.store.peek(key);
    if (!found.found()) {
      throw Error(
          "the entry " + key.name() + " cannot be exported: " +
          (found.reason.empty() ? "it was removed meanwhile" : found.path + ": " + found.reason) +
          "; quantjit cache verify --repair moves damaged entries aside");
    }
    writer.add(*found.entry);
  }
  writer.finish(what.signing_key);
  report.bundle = read_bundle(what.path);
  return report;
}

BundleImportReport import_bundle(KernelService& service, const BundleImport& what) {
  const std::optional<bundle::PublicKey> key = wanted_key(what.verify_key);
  const bundle::Reader reader = open(what.path);
  const bundle::SignatureStatus signature = reader.check_signature(key);
  bundle::ImportReport imported = import_entries(reader, service.body().store, to_texts(what.archs),
                                                 service.options().cache_max_bytes);
  return {.bundle = describe(reader, signature),
          .root = std::move(imported.root),
          .imported = imported.imported,
          .already_there = imported.already_there,
          .failed = to_public(imported.failed)};
}

BundleVerification verify_bundle(const BundleImport& what) {
  const std::optional<bundle::PublicKey> key = wanted_key(what.verify_key);
  const bundle::Reader reader = open(what.path);
  const bundle::SignatureStatus signature = reader.check_signature(key);
  reader.require_archs(to_texts(what.archs));
  return {.bundle = describe(reader, signature),
          .bad = to_public(verify_entries(reader, to_texts(what.archs)))};
}

BundleInfo read_bundle(const std::string& path) {
  const bundle::Reader reader = open(path);
  return describe(reader, reader.check_signature(std::nullopt));
}

}  // namespace quantjit
