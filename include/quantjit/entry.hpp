// SPDX-License-Identifier: Apache-2.0
// Cache entries as bytes: what one machine hands to another. An entry names its key, carries the
// text that the key is made of and a checksum over all of it, so whoever gets one can tell whether
// it is whole and whether it is what was asked for. cache/README.md specifies the format.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/export.hpp>
#include <quantjit/kernel.hpp>
#include <quantjit/service.hpp>
#include <quantjit/traits.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace quantjit {

/// What an entry is asked for by.
struct EntryQuery {
  Descriptor descriptor;            ///< of the service that is asked
  Arch arch;                        ///< target
  CodeKind code = CodeKind::kAuto;  ///< auto: what the service's options say, else a cubin
  /// get_entry() asks no compile service and waits for no lease of a fleet: others wait for whoever
  /// asks, perhaps this service too.
  bool at_once = false;
};

/// Both parts of a key, as one service makes it.
struct EntryId {
  std::string request;    ///< 64 hexadecimal digits: what is asked for, sources included
  std::string toolchain;  ///< 16 hexadecimal digits: the NVRTC found here; empty if there is none
};

/// One entry, verified.
struct EntryBytes {
  std::string key;                            ///< "<request>-<toolchain>"
  ImageSource source = ImageSource::kMemory;  ///< the tier that had it
  std::string bytes;                          ///< the same as in a file of the disk cache
};

// Thread safe, all of them.

/// The key of a query. Compiles, loads and looks up nothing. Throws: InvalidArgument,
/// NotImplemented, CompileError (unreadable sources).
[[nodiscard]] QUANTJIT_API EntryId identify_entry(KernelService& service, const EntryQuery& query);

/// An entry that is in memory or on disk; nothing if it is in neither. Throws as identify_entry.
[[nodiscard]] QUANTJIT_API std::optional<EntryBytes> find_entry(KernelService& service,
                                                                const EntryQuery& query);

/// An entry from whichever tier has it, compiled if need be, once for all who ask at the same time.
/// What is on disk afterwards is not kept in memory, so that serving any number of kernels takes no
/// more of it. Waits for no other process that compiles into the same cache, since that may be who
/// asks. Throws as KernelService::get_image.
[[nodiscard]] QUANTJIT_API EntryBytes get_entry(KernelService& service, const EntryQuery& query);

/// An entry of the disk cache by its key, "<request>-<toolchain>" or "<request>" alone for the
/// newest toolchain's; nothing if there is none that is whole. Counts as its use.
/// Throws: InvalidArgument for a text that is no key.
[[nodiscard]] QUANTJIT_API std::optional<EntryBytes> read_entry(KernelService& service,
                                                                std::string_view key);

/// Loads NVRTC and compiles a kernel of a few bytes, so that the first request need not wait for
/// it. Counts nowhere. False if there is no NVRTC that works.
QUANTJIT_API bool warm_compiler(KernelService& service);

}  // namespace quantjit
