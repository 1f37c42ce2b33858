// SPDX-License-Identifier: Apache-2.0
// Looking into and maintaining the disk cache: what `quantjit cache` does.
#pragma once

#include <quantjit/export.hpp>
#include <quantjit/kernel.hpp>
#include <quantjit/prewarm.hpp>
#include <quantjit/service.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quantjit {

/// One entry as a list shows it. The texts come from the beginning of its file, unverified; they
/// are empty if that cannot be read.
struct CacheEntry {
  std::string key;               ///< "<request>-<toolchain>"
  std::string path;              ///< of the file
  std::uint64_t bytes = 0;       ///< of the file
  std::int64_t last_used_s = 0;  ///< seconds since 1970
  bool pinned = false;           ///< kept from eviction
  std::string traits;            ///< canonical descriptor text
  std::string arch;              ///< e.g. "sm_90a"
  std::string math;              ///< "fast" or "precise"
  std::string code_kind;         ///< "cubin" or "ptx"
};

/// A root and how far it can be used.
struct CacheRootStatus {
  std::string path;       ///< as it was given
  bool exists = false;    ///< it is there
  bool writable = false;  ///< it takes new entries
  bool trusted = false;   ///< false: its entries are not looked at
  bool shared = false;    ///< entries carry a MAC
  bool bundle = false;    ///< a bundle that is used in place, read only
  std::string reason;     ///< why it is not trusted or not writable; empty if it is both
};

/// What the roots hold.
struct CacheStats {
  std::uint64_t entries = 0;           ///< of all trusted roots
  std::uint64_t bytes = 0;             ///< of them
  std::uint64_t max_bytes = 0;         ///< limit of the written root; 0 is none
  std::vector<CacheRootStatus> roots;  ///< in lookup order
  /// Event counts of all processes of the written root, by name.
  std::vector<std::pair<std::string, std::uint64_t>> counters;
};

/// One verified entry.
struct CacheInspection {
  ImageInfo info;                ///< what its metadata says
  std::string metadata;          ///< JSON text as stored
  std::uint64_t code_bytes = 0;  ///< cubin or PTX
};

/// What a verification found.
struct CacheVerification {
  /// A damaged entry.
  struct BadEntry {
    std::string path;    ///< of the file
    std::string reason;  ///< what is wrong with it
  };

  std::uint64_t checked = 0;  ///< entries that were read
  std::vector<BadEntry> bad;  ///< those that are damaged
};

/// What was removed.
struct CacheRemoval {
  std::uint64_t entries = 0;       ///< removed, or to be removed in a dry run
  std::uint64_t bytes = 0;         ///< of them
  std::uint64_t kept_bytes = 0;    ///< in the written root afterwards
  std::vector<std::string> paths;  ///< of the files
};

/// What a verification does with bad entries.
enum class CacheRepair : std::uint8_t { kReport, kMoveAside };
/// Whether a removal removes.
enum class CacheRemovalMode : std::uint8_t { kReal, kDryRun };

/// The disk cache of a service with these options, seen from outside. Safe while any number of
/// processes read and write. What the environment does (missing rights, damaged files) ends in the
/// results. Thread safe.
class QUANTJIT_API CacheAdmin {
 public:
  /// Touches no file. Throws: InvalidArgument for options that contradict each other.
  explicit CacheAdmin(ServiceOptions options = ServiceOptions::from_environment());
  ~CacheAdmin();
  CacheAdmin(CacheAdmin&&) noexcept;
  CacheAdmin& operator=(CacheAdmin&&) noexcept;
  CacheAdmin(const CacheAdmin&) = delete;
  CacheAdmin& operator=(const CacheAdmin&) = delete;

  /// All entries of all trusted roots, by key.
  [[nodiscard]] std::vector<CacheEntry> list();
  /// Totals, limits and roots.
  [[nodiscard]] CacheStats stats();
  /// Reads and verifies one entry; nothing if there is none of this key. Throws: InvalidArgument
  /// for a text that is no key; Error with the reason for an entry that is damaged.
  [[nodiscard]] std::optional<CacheInspection> inspect(std::string_view key);
  /// Reads and verifies every entry of every trusted root.
  CacheVerification verify(CacheRepair repair = CacheRepair::kReport);
  /// Removes least recently used entries of the written root that are not pinned, until it holds at
  /// most `target_bytes`; without a target down to the low-water mark if it is above the high-water
  /// mark.
  CacheRemoval evict(std::optional<std::uint64_t> target_bytes = std::nullopt,
                     CacheRemovalMode mode = CacheRemovalMode::kReal);
  /// Removes all entries of the written root and what was moved aside.
  CacheRemoval clear(CacheRemovalMode mode = CacheRemovalMode::kReal);

  /// Keys of descriptors for targets, as this process would look for them: with the libnvrtc that
  /// is found here, or without one those of the entries that are there. Compiles nothing. Throws:
  /// InvalidArgument; Error naming the first that has no key here.
  [[nodiscard]] std::vector<std::string> keys_of(const std::vector<PrewarmItem>& items);
  /// Keeps the entry of a key from eviction until unpin(), in the written root and for all
  /// processes; also if it is not there yet. False if the root cannot be written. Throws:
  /// InvalidArgument for a text that is no key.
  bool pin(std::string_view key);
  /// False if the key was not pinned. Throws: InvalidArgument for a text that is no key.
  bool unpin(std::string_view key);
  /// Gives back what processes of this machine held when they ended without doing so: the right
  /// to compile a kernel for all. Others would take it over as well, on another machine after some
  /// seconds. Returns how many.
  std::size_t release_dead_leases();
  /// Keys that are pinned, sorted.
  [[nodiscard]] std::vector<std::string> pins();

  /// Reads a size in bytes with an optional suffix K, M, G or T (powers of 1024).
  /// Throws: InvalidArgument.
  [[nodiscard]] static std::uint64_t parse_size(std::string_view text);

 private:
  std::unique_ptr<KernelService> service_;
};

}  // namespace quantjit
