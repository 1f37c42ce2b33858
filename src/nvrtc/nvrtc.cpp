// SPDX-License-Identifier: Apache-2.0
// Loading NVRTC and asking what it can do.
#include "src/nvrtc/nvrtc.hpp"

#include "src/nvrtc/nvrtc_table.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace quantjit::nvrtc {
namespace {

constexpr int kLowestArch = 90;
constexpr int kLowestFamilyArch = 100;
constexpr Version kFirstWithFamilies{12, 9};

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& message,
                       const std::string& version = {}) {
  CompileError::Details details;
  details.nvrtc_path = path.string();
  details.nvrtc_version = version;
  throw CompileError(message, std::move(details));
}

base::DynamicLibrary open_library(const std::filesystem::path& path) {
  base::DynamicLibrary::OpenFailure failure;
  auto library = base::DynamicLibrary::open(path.string(), &failure);
  if (!library) {
    fail(path, "the NVRTC library " + path.string() + " could not be loaded (" + failure.reason +
                   "); install NVRTC 12.8 or newer, or name another library with QUANTJIT_NVRTC");
  }
  return library;
}

Version query_version(const NvrtcTable& table, const std::filesystem::path& path) {
  Version version;
  if (table.nvrtcVersion(&version.major, &version.minor) != NVRTC_SUCCESS) {
    fail(path, path.string() + " does not tell its version; install NVRTC again");
  }
  if (version < kMinimumVersion) {
    fail(path,
         "NVRTC " + version.to_string() + " (" + path.string() + ") is older than " +
             kMinimumVersion.to_string() +
             ", the first that knows every target; install a newer one, or name it with "
             "QUANTJIT_NVRTC",
         version.to_string());
  }
  return version;
}

std::vector<int> query_archs(const NvrtcTable& table, const std::filesystem::path& path) {
  int count = 0;
  std::vector<int> numbers;
  if (table.nvrtcGetNumSupportedArchs(&count) == NVRTC_SUCCESS && count > 0) {
    numbers.resize(static_cast<std::size_t>(count));
    if (table.nvrtcGetSupportedArchs(numbers.data()) == NVRTC_SUCCESS) {
      std::sort(numbers.begin(), numbers.end());
      return numbers;
    }
  }
  fail(path, path.string() + " does not tell its targets; install NVRTC again",
       table.version.to_string());
}

/// NVRTC opens its builtins by name. Opening them here first, by path, lets it find them wherever
/// the pair is installed.
void load_builtins(NvrtcTable& table, const std::filesystem::path& path) {
  table.builtins_name = "libnvrtc-builtins.so." + table.version.to_string();
  for (const auto& directory : builtins_directories(path)) {
    const auto candidate = directory / table.builtins_name;
    std::error_code error;
    if (std::filesystem::exists(candidate, error)) {
      table.builtins = base::DynamicLibrary::open(candidate.string());
      if (table.builtins) {
        return;
      }
    }
  }
}

}  // namespace

std::string Version::to_string() const {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string_view to_string(CodeKind kind) {
  return kind == CodeKind::kCubin ? "cubin" : "ptx";
}

std::vector<std::filesystem::path> builtins_directories(const std::filesystem::path& library) {
  std::vector<std::filesystem::path> result{library.parent_path()};
  std::error_code error;
  const auto real = std::filesystem::canonical(library, error);
  if (!error && real.parent_path() != result.front()) {
    result.push_back(real.parent_path());
  }
  return result;
}

std::string list_text(const std::vector<Arch>& archs) {
  std::string text;
  for (const Arch& arch : archs) {
    text += (text.empty() ? "" : ", ") + arch.to_string();
  }
  return text;
}

Nvrtc::Nvrtc(std::filesystem::path library) : path_(std::move(library)) {}

Nvrtc::~Nvrtc() = default;

const NvrtcTable& Nvrtc::table() const {
  const NvrtcTable* loaded = table_.load(std::memory_order_acquire);
  if (loaded == nullptr) {
    load();
    loaded = table_.load(std::memory_order_acquire);
  }
  return *loaded;
}

void Nvrtc::load() const {
  const std::lock_guard lock(mutex_);
  if (owned_table_ != nullptr) {
    return;
  }
  auto table = std::make_unique<NvrtcTable>();
  table->library = open_library(path_);
  const auto find = [&](const char* name) {
    void* const address = table->library.symbol(name);
    if (address == nullptr) {
      fail(path_, path_.string() + " has no " + name +
                      ", so it is no NVRTC 12.8 or newer; name another with QUANTJIT_NVRTC");
    }
    return address;
  };
  // The version first: a library that is too old may lack the others.
  table->nvrtcVersion = reinterpret_cast<decltype(&::nvrtcVersion)>(find("nvrtcVersion"));
  table->version = query_version(*table, path_);
#define QUANTJIT_FIND(name) table->name = reinterpret_cast<decltype(&::name)>(find(#name));
  QUANTJIT_NVRTC_SYMBOLS(QUANTJIT_FIND)
#undef QUANTJIT_FIND
  table->arch_numbers = query_archs(*table, path_);
  load_builtins(*table, path_);
  owned_table_ = std::move(table);
  table_.store(owned_table_.get(), std::memory_order_release);
}

Version Nvrtc::version() const {
  return table().version;
}

std::vector<Arch> Nvrtc::supported_archs() const {
  const NvrtcTable& nvrtc = table();
  std::vector<Arch> result;
  for (const int number : nvrtc.arch_numbers) {
    for (const char suffix : {'\0', 'a', 'f'}) {
      const Arch arch{static_cast<std::uint16_t>(number / 10),
                      static_cast<std::uint16_t>(number % 10), suffix};
      const bool is_family = suffix == 'f';
      if (number >= (is_family ? kLowestFamilyArch : kLowestArch) &&
          (!is_family || nvrtc.version >= kFirstWithFamilies)) {
        result.push_back(arch);
      }
    }
  }
  return result;
}

bool Nvrtc::supports(const Arch& arch) const {
  const auto archs = supported_archs();
  return std::find(archs.begin(), archs.end(), arch) != archs.end();
}

}  // namespace quantjit::nvrtc
