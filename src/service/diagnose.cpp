// SPDX-License-Identifier: Apache-2.0
#include "src/base/nvtx.hpp"
#include "src/bundle/compression.hpp"
#include "src/bundle/signature.hpp"
#include "src/remote/make_backend.hpp"
#include "src/service/body.hpp"

#include <quantjit/diagnose.hpp>
#include <quantjit/error.hpp>

#include <filesystem>
#include <system_error>

namespace quantjit {
namespace {

/// A file of the builtins' name beside the library, where its path points or where it really is.
std::string find_builtins(const std::filesystem::path& library) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(library, error);
  for (const std::filesystem::path& directory : {library.parent_path(), real.parent_path()}) {
    std::error_code unreadable;
    for (std::filesystem::directory_iterator it(directory, unreadable), end;
         !unreadable && it != end; it.increment(unreadable)) {
      if (it->path().filename().string().starts_with("libnvrtc-builtins.so.")) {
        return it->path().string();
      }
    }
  }
  return {};
}

void ask_library(const nvrtc::Nvrtc& compiler, Diagnosis::Nvrtc& report) {
  try {
    report.version = compiler.version().to_string();
    report.archs = compiler.supported_archs();
  } catch (const Error& error) {
    report.problem = error.what();
  }
}

Diagnosis::Nvrtc diagnose_nvrtc(service::Toolchain& toolchain, DiagnosisDepth depth) {
  Diagnosis::Nvrtc report;
  const service::Toolchain::Found* const found = toolchain.find();
  if (found == nullptr) {
    try {
      static_cast<void>(toolchain.require("a kernel", "any target"));
    } catch (const CompileError& error) {
      report.problem = error.what();
    }
    return report;
  }
  report.path = found->library.path.string();
  report.origin = nvrtc::to_string(found->library.origin);
  report.identity = found->identity.hex;
  report.identity_is_hash = found->identity.source == nvrtc::IdentitySource::kContentHash;
  report.builtins = find_builtins(found->library.path);
  if (report.builtins.empty()) {
    report.problem = "libnvrtc-builtins was not found beside " + report.path;
  }
  if (depth == DiagnosisDepth::kLoad) {
    ask_library(*found->compiler, report);
  }
  return report;
}

/// `version` of the library that a feature works with is empty if this build has none.
Feature feature(const std::string& name, const std::string& version, const std::string& library,
                const std::string& package) {
  return {.name = name,
          .available = !version.empty(),
          .detail = version.empty()
                        ? "needs " + library + ": install " + package + " and build again"
                        : library + " " + version};
}

std::vector<Feature> features() {
  return {
      feature("bundles", bundle::compression_version(), "zstd", "libzstd-dev"),
      feature("signatures", bundle::signature_version(), "OpenSSL", "libssl-dev"),
      feature("redis tiers", remote::redis_version(), "hiredis", "libhiredis-dev"),
      feature("redis tiers over TLS", remote::redis_tls_version(), "OpenSSL",
              "libssl-dev and libhiredis-dev"),
      feature("http tiers", remote::http_version(), "libcurl", "libcurl4-openssl-dev"),
      {.name = "profiler ranges",
       .available = base::has_nvtx(),
       .detail = base::has_nvtx()
                     ? "NVTX"
                     : "needs the NVTX headers of a CUDA toolkit (nvtx3): build again with them"}};
}

}  // namespace

std::vector<RemoteDiagnosis> diagnose_remote(KernelService& service) {
  std::vector<RemoteDiagnosis> diagnoses;
  const remote::Tiers* const tiers = service.body().remote.get();
  for (std::size_t i = 0; tiers != nullptr && i < tiers->size(); ++i) {
    diagnoses.push_back({(*tiers)[i].stats(), (*tiers)[i].probe()});
  }
  return diagnoses;
}

Diagnosis diagnose(KernelService& service, DiagnosisDepth depth) {
  Diagnosis diagnosis;
  diagnosis.features = features();
  diagnosis.nvrtc = diagnose_nvrtc(service.body().toolchain, depth);
  try {
    diagnosis.kernel_sources = service.body().sources()->origin();
  } catch (const Error& error) {
    diagnosis.kernel_sources = service.options().kernel_dir;
    diagnosis.kernel_sources_problem = error.what();
  }
  return diagnosis;
}

}  // namespace quantjit
