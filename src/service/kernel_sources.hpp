// SPDX-License-Identifier: Apache-2.0
// Kernel sources and their include closure by content: embedded at build, or read from a directory.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::service {

/// One file of the include root.
struct SourceFile {
  std::string path;  ///< relative to the include root, with '/'
  std::string text;
  std::string sha256;  ///< hexadecimal, of `text`
};

/// What one kernel file is made of: itself first, then every file it reaches, by path.
using Closure = std::vector<const SourceFile*>;

/// An immutable snapshot of the include root. Thread safe.
class KernelSources {
 public:
  /// The sources built into the library.
  static std::shared_ptr<const KernelSources> embedded();
  /// Every `.cuh` and `.h` file beneath `directory`. Throws: InvalidArgument if it cannot be read
  /// or holds more than a kernel tree would (1,000 files, 1 MiB each).
  static std::shared_ptr<const KernelSources> from_directory(const std::string& directory);

  /// Builds a snapshot from texts; `origin` names it in messages.
  KernelSources(std::string origin, const std::map<std::string, std::string>& texts);

  /// This snapshot and some files more. Throws: InvalidArgument for a path that it has already.
  [[nodiscard]] std::shared_ptr<const KernelSources> with(
      const std::map<std::string, std::string>& texts) const;

  /// The closure of one file under `#include "path"`, where paths are relative to the include root.
  /// Throws: CompileError if a file is missing, or includes by a macro, by angle brackets or
  /// by `#include_next`, `#import` or `#embed`: what a kernel is made of must be readable from its
  /// text.
  [[nodiscard]] Closure closure(const std::string& path) const;

  /// "embedded" or the directory.
  [[nodiscard]] const std::string& origin() const { return origin_; }

 private:
  std::string origin_;
  std::map<std::string, SourceFile> files_;
  mutable std::mutex mutex_;  // guards closures_
  mutable std::map<std::string, Closure> closures_;
};

/// Paths of all `#include "..."` directives outside comments and literals, in order of appearance.
/// Throws: CompileError (message names `path` and the line) for the forms that closure() refuses.
[[nodiscard]] std::vector<std::string> included_paths(std::string_view text,
                                                      const std::string& path);

}  // namespace quantjit::service
