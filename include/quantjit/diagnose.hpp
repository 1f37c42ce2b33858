// SPDX-License-Identifier: Apache-2.0
// What a service has to work with, for people and problem reports.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/export.hpp>
#include <quantjit/service.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace quantjit {

/// How far a diagnosis goes.
enum class DiagnosisDepth : std::uint8_t {
  kFiles,  ///< looks at files; loads no library
  kLoad,   ///< loads NVRTC and asks it for its version and targets
};

/// A part of the library that is there if what it needs was there at build time.
struct Feature {
  std::string name;        ///< e.g. "bundles"
  bool available = false;  ///< this build has it
  std::string detail;      ///< what it works with, or what it needs
};

/// All that was found.
struct Diagnosis {
  /// The NVRTC that would compile.
  struct Nvrtc {
    std::string path;               ///< empty if none was found
    std::string origin;             ///< where it was found, e.g. "toolkit"
    std::string identity;           ///< GNU build-id, or the SHA-256 of a file without one
    bool identity_is_hash = false;  ///< whether it is that
    std::string builtins;     ///< path of libnvrtc-builtins beside it; empty if it is not there
    std::string version;      ///< e.g. "13.0"; only with kLoad
    std::vector<Arch> archs;  ///< targets it compiles for; only with kLoad
    std::string problem;      ///< why it cannot be used; empty if nothing is known against it
  };

  Nvrtc nvrtc;                         ///< the compiler
  std::string kernel_sources;          ///< "embedded" or the directory
  std::string kernel_sources_problem;  ///< why they cannot be used
  std::vector<Feature> features;       ///< the optional ones
};

/// A remote tier of a service, and whether its servers answer.
struct RemoteDiagnosis {
  RemoteTierStats tier;  ///< what it is
  /// One for each server: empty if it answers and lets this machine read, else what is wrong.
  std::vector<std::string> problems;
};

/// Asks every server of the remote tiers for an entry that does not exist: one call each, with the
/// tier's time limit, one after the other. Throws: nothing but std::bad_alloc. Thread safe.
QUANTJIT_API std::vector<RemoteDiagnosis> diagnose_remote(KernelService& service);

/// Looks at what `service` would use. Throws: nothing but std::bad_alloc; what is wrong ends in the
/// result. Thread safe.
QUANTJIT_API Diagnosis diagnose(KernelService& service,
                                DiagnosisDepth depth = DiagnosisDepth::kFiles);

}  // namespace quantjit
