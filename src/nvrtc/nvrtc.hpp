// SPDX-License-Identifier: Apache-2.0
// The NVRTC library and compiling with it.
#pragma once

#include <quantjit/arch.hpp>

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::nvrtc {

struct NvrtcTable;  // nvrtc_table.hpp, for the .cpp files of this module

struct Version {
  int major = 0;
  int minor = 0;

  [[nodiscard]] std::string to_string() const;
  // NOLINTNEXTLINE(modernize-use-nullptr): what the compiler writes is compared with 0
  friend auto operator<=>(const Version&, const Version&) = default;
};

/// The lowest version that is accepted: the first with sm_100 and sm_120.
inline constexpr Version kMinimumVersion{12, 8};

enum class CodeKind : std::uint8_t { kCubin, kPtx };

/// "cubin" or "ptx".
[[nodiscard]] std::string_view to_string(CodeKind kind);

/// A named text, as `#include` or a message would name it.
struct SourceText {
  std::string name;
  std::string text;
};

struct CompileRequest {
  SourceText source;
  /// Texts that `#include` finds by their name, whatever is on the disk.
  std::vector<SourceText> headers;
  /// Directories that `#include` searches after `headers`.
  std::vector<std::filesystem::path> include_directories;
  /// Entry points to instantiate, e.g. "&quantjit::kernel<float, 128>".
  std::vector<std::string> name_expressions;
  /// NVRTC options, one each; the target is added by the compiler.
  std::vector<std::string> options;
  Arch arch;
  CodeKind kind = CodeKind::kCubin;
  /// What the kernel is, for error messages: the descriptor text.
  std::string traits;
};

struct CompileResult {
  /// The cubin's ELF bytes, or PTX text with a final NUL.
  std::vector<std::byte> code;
  /// Lowered (mangled) name per name expression, in their order.
  std::vector<std::string> lowered_names;
  /// What NVRTC said: warnings and notes; usually empty.
  std::string log;
  double compile_ms = 0;
};

/// One libnvrtc. Constructing it loads nothing; the first member that needs the library does.
/// Thread safety: all members may be called from any thread; compiles run in parallel.
class Nvrtc {
 public:
  explicit Nvrtc(std::filesystem::path library);
  Nvrtc(const Nvrtc&) = delete;
  Nvrtc& operator=(const Nvrtc&) = delete;
  Nvrtc(Nvrtc&&) = delete;
  Nvrtc& operator=(Nvrtc&&) = delete;
  ~Nvrtc();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  /// Whether the library has been loaded through this object.
  [[nodiscard]] bool is_loaded() const noexcept {
    return table_.load(std::memory_order_acquire) != nullptr;
  }

  /// Version of the library. Loads it. Throws: CompileError if it cannot be loaded, lacks an entry
  /// point or is older than kMinimumVersion.
  [[nodiscard]] Version version() const;
  /// Every target it can compile for, lowest first: "sm_90", "sm_90a", "sm_100", "sm_100a",
  /// "sm_100f", ... Loads it. Throws as version().
  [[nodiscard]] std::vector<Arch> supported_archs() const;
  /// Whether it can compile for `arch`. Loads it. Throws as version().
  [[nodiscard]] bool supports(const Arch& arch) const;

  /// Compiles. Loads the library.
  /// Throws: CompileError with the whole log, the options, the target, the library's path and
  /// version; for a target that this library does not know, before anything is compiled, with the
  /// list of those it does.
  [[nodiscard]] CompileResult compile(const CompileRequest& request) const;

 private:
  const NvrtcTable& table() const;
  void load() const;

  std::filesystem::path path_;
  mutable std::mutex mutex_;  // guards loading
  mutable std::unique_ptr<NvrtcTable> owned_table_;
  mutable std::atomic<const NvrtcTable*> table_{nullptr};
};

}  // namespace quantjit::nvrtc
