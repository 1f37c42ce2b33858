// SPDX-License-Identifier: Apache-2.0
// Bundles: compiled kernels in one file, to be made where there is a compiler and used where there
// is none. src/bundle/README.md specifies the format. A bundle may also be named as a cache root,
// and then serves its entries as it is.
//
// Bundles need zstd, signatures OpenSSL, at build time; without them these functions throw
// NotImplemented. `diagnose()` says what a build has.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/export.hpp>
#include <quantjit/prewarm.hpp>
#include <quantjit/service.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit {

/// One entry as a bundle's index states it.
struct BundleEntry {
  std::string key;                 ///< "<request>-<toolchain>"
  std::string traits;              ///< canonical descriptor text
  std::string arch;                ///< e.g. "sm_90a"
  std::string math;                ///< "fast" or "precise"
  std::string code_kind;           ///< "cubin" or "ptx"
  std::uint64_t bytes = 0;         ///< of the entry file
  std::uint64_t packed_bytes = 0;  ///< of it in the bundle
  std::string sha256;              ///< of the entry file
};

enum class BundleSignature : std::uint8_t {
  kNone,
  kUnchecked,   ///< signed, but this build cannot check signatures
  kConsistent,  ///< made with the key that stands in the bundle, whoever holds that
  kTrusted,     ///< made with the key that was asked for
};

/// "none", "unchecked", "consistent" or "trusted".
QUANTJIT_API std::string_view to_string(BundleSignature signature);

/// What a bundle is and holds.
struct BundleInfo {
  std::string path;                  ///< of the file
  std::uint32_t format = 0;          ///< version of the format
  std::uint64_t bytes = 0;           ///< of the file
  std::uint64_t unpacked_bytes = 0;  ///< of its entries
  std::string index_sha256;          ///< names the content: it covers the digest of every entry
  BundleSignature signature = BundleSignature::kNone;  ///< what its signature is worth
  std::string signer;                ///< public key, 64 hexadecimal digits; empty if not signed
  std::vector<std::string> archs;    ///< targets that it holds entries for, sorted
  std::vector<BundleEntry> entries;  ///< by key
};

/// What to export.
struct BundleExport {
  std::string path;  ///< replaced if it exists
  /// What to export, as the service would find it on disk.
  std::vector<PrewarmItem> requests;
  /// In place of requests: every entry of every root.
  bool all = false;
  std::vector<Arch> archs;  ///< with `all`: only entries for these; empty: for any
  std::string signing_key;  ///< PEM file of an Ed25519 private key; empty: not signed
};

/// What became of an export.
struct BundleExportReport {
  /// A kernel that was asked for and is not in the cache.
  struct Missing {
    std::string traits;  ///< empty: there is no entry for `arch` at all
    std::string arch;    ///< target that it is for
  };

  BundleInfo bundle;             ///< what was written, if nothing is missing
  std::vector<Missing> missing;  ///< if anything is, nothing is written
};

/// Writes entries of the service's disk tier into a bundle; compiles nothing. The same entries give
/// the same bytes (with the same zstd). The file is there whole or not at all.
/// Throws: InvalidArgument for contradictory options or a key file that is none; Error if an entry
/// is damaged or the file cannot be written; NotImplemented.
QUANTJIT_API BundleExportReport export_bundle(KernelService& service, const BundleExport& what);

/// What to import, and on which terms.
struct BundleImport {
  std::string path;         ///< of the bundle
  std::string verify_key;   ///< PEM file of an Ed25519 public key that must have signed it
  std::vector<Arch> archs;  ///< only entries for these, each of which must be there; empty: all
};

/// An entry and what is wrong with it.
struct BundleProblem {
  BundleEntry entry;   ///< the entry; without a key if it is the bundle itself
  std::string reason;  ///< what is wrong
};

/// What became of an import.
struct BundleImportReport {
  BundleInfo bundle;                  ///< what was imported
  std::string root;                   ///< the cache root that took the entries
  std::uint64_t imported = 0;         ///< entries that were stored
  std::uint64_t already_there = 0;    ///< entries that were there
  std::vector<BundleProblem> failed;  ///< entries that could not be stored
};

/// Publishes the entries of a bundle in the written cache root of the service. The whole bundle is
/// verified before the first entry is published; a bundle that is bad in any place changes nothing.
/// What the operating system refuses later ends in `failed`. Doing it again does no harm.
/// Throws: Error that says what is wrong with the bundle or the cache; InvalidArgument;
/// NotImplemented.
QUANTJIT_API BundleImportReport import_bundle(KernelService& service, const BundleImport& what);

/// What a verification found.
struct BundleVerification {
  BundleInfo bundle;               ///< what was looked at
  std::vector<BundleProblem> bad;  ///< what is wrong; empty if nothing is
};

/// Reads and verifies every entry of a bundle; needs no cache. Throws: as import_bundle, but bad
/// entries end in `bad`.
QUANTJIT_API BundleVerification verify_bundle(const BundleImport& what);

/// Reads the index of a bundle, verifies that, and checks the signature as far as this build can.
/// Throws: Error, NotImplemented.
QUANTJIT_API BundleInfo read_bundle(const std::string& path);

}  // namespace quantjit
