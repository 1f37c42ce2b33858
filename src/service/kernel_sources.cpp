// SPDX-License-Identifier: Apache-2.0
#include "src/service/kernel_sources.hpp"

#include "kernels/embedded.hpp"
#include "src/base/file.hpp"
#include "src/base/sha256.hpp"

#include <quantjit/error.hpp>

#include <filesystem>
#include <set>
#include <system_error>

namespace quantjit::service {
namespace {

constexpr std::size_t kMaxFiles = 1000;
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 20;

}  // namespace

KernelSources::KernelSources(std::string origin, const std::map<std::string, std::string>& texts)
    : origin_(std::move(origin)) {
  for (const auto& [path, text] : texts) {
    files_.emplace(path, SourceFile{path, text, base::to_hex(base::sha256(text))});
  }
}

std::shared_ptr<const KernelSources> KernelSources::embedded() {
  std::map<std::string, std::string> texts;
  for (const auto& source : kernels::embedded_sources()) {
    texts.emplace(source.path, source.text);
  }
  return std::make_shared<const KernelSources>("embedded", texts);
}

std::shared_ptr<const KernelSources> KernelSources::from_directory(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::map<std::string, std::string> texts;
  const auto refuse = [&directory](const std::string& why) {
    throw InvalidArgument("kernel directory", "\"" + directory + "\"", why);
  };
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const auto extension = it->path().extension();
    std::error_code ignored;
    if ((extension != ".cuh" && extension != ".h") || !it->is_regular_file(ignored)) {
      continue;
    }
    if (texts.size() == kMaxFiles || it->file_size(ignored) > kMaxFileBytes) {
      refuse("it may hold at most 1000 kernel files of 1 MiB each");
    }
    if (auto text = base::read_file(it->path())) {
      texts.emplace(it->path().lexically_relative(directory).generic_string(), std::move(*text));
    }
  }
  if (error) {
    refuse("it cannot be read: " + error.message());
  }
  if (texts.empty()) {
    refuse("it must hold the kernel sources (.cuh and .h files), and there are none in it");
  }
  return std::make_shared<const KernelSources>(directory, texts);
}

std::shared_ptr<const KernelSources> KernelSources::with(
    const std::map<std::string, std::string>& texts) const {
  auto both = std::make_shared<KernelSources>(origin_, texts);
  for (const auto& [path, file] : files_) {
    if (!both->files_.emplace(path, file).second) {
      throw InvalidArgument("source.path", "\"" + path + "\"",
                            "the " + origin_ + " kernel sources have a file of this name");
    }
  }
  return both;
}

Closure KernelSources::closure(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = closures_.find(path); known != closures_.end()) {
    return known->second;
  }
  const auto find = [this](const std::string& wanted, const std::string& includer) {
    const auto file = files_.find(wanted);
    if (file == files_.end()) {
      throw CompileError("kernel source " + wanted +
                             (includer.empty() ? "" : ", included by " + includer + ",") +
                             " is not among the " + origin_ + " kernel sources",
                         {});
    }
    return &file->second;
  };
  std::set<std::string> seen{path};
  std::vector<const SourceFile*> pending{find(path, {})};
  std::map<std::string, const SourceFile*> reached;
  while (!pending.empty()) {
    const SourceFile* const file = pending.back();
    pending.pop_back();
    if (file->path != path) {
      reached.emplace(file->path, file);
    }
    for (const std::string& included : included_paths(file->text, file->path)) {
      if (seen.insert(included).second) {
        pending.push_back(find(included, file->path));
      }
    }
  }
  Closure closure{&files_.at(path)};
  for (const auto& [reached_path, file] : reached) {
    closure.push_back(file);
  }
  closures_.emplace(path, closure);
  return closure;
}

}  // namespace quantjit::service
