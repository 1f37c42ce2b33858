// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cache_fixture.hpp"

#include "cache/root.hpp"
#include "src/base/sha256.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <stdlib.h>
#include <sys/stat.h>

namespace quantjit::cache {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory()
    : path_((fs::temp_directory_path() / "quantjit-test-XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) {
    throw std::runtime_error("cannot make a directory like " + path_);
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::function<void(std::string_view)> CaughtWarnings::sink() {
  return [this](std::string_view message) {
    const std::lock_guard lock(mutex_);
    messages_.emplace_back(message);
  };
}

std::vector<std::string> CaughtWarnings::all() const {
  const std::lock_guard lock(mutex_);
  return messages_;
}

Entry make_entry(std::uint64_t seed, std::size_t code_bytes) {
  const std::string text = "schema=1\ntraits=number " + std::to_string(seed) + "\narch=sm_90a\n";
  Entry entry;
  entry.key.request = base::to_hex(base::sha256(text));
  entry.key.toolchain = "00112233445566aa";
  entry.toolchain_rank = 13000;
  entry.key_text = text;
  entry.metadata = R"({"traits":"number )" + std::to_string(seed) + R"(","registers":32})";
  std::mt19937_64 random(seed);
  entry.code.resize(code_bytes);
  std::generate(entry.code.begin(), entry.code.end(), [&] { return static_cast<char>(random()); });
  return entry;
}

Entry with_toolchain(Entry entry, std::uint64_t toolchain, std::uint32_t rank) {
  entry.key.toolchain = base::to_hex(base::sha256(std::to_string(toolchain))).substr(0, 16);
  entry.toolchain_rank = rank;
  entry.code += std::to_string(toolchain);
  return entry;
}

StoreOptions options_for(const std::vector<std::string>& roots, CaughtWarnings& warnings) {
  StoreOptions options;
  for (const std::string& root : roots) {
    options.roots.push_back({root, {}});
  }
  options.lease.heartbeat = std::chrono::nanoseconds(0);
  options.warn = warnings.sink();
  return options;
}

bool same_entry(const Entry& a, const Entry& b) {
  return a.key == b.key && a.toolchain_rank == b.toolchain_rank && a.key_text == b.key_text &&
         a.metadata == b.metadata && a.code == b.code;
}

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) {
    throw std::runtime_error("cannot write " + path);
  }
}

std::vector<std::string> files_below(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& item : fs::recursive_directory_iterator(directory, ignored)) {
    if (!item.is_directory()) {
      paths.push_back(item.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> leftovers_below(const std::string& directory) {
  std::vector<std::string> paths = files_below(directory);
  std::erase_if(paths, [](const std::string& path) {
    const std::string name = fs::path(path).filename().string();
    return !name.starts_with(kTemporaryPrefix) && path.find("/leases/") == std::string::npos;
  });
  return paths;
}

unsigned mode_of(const std::string& path) {
  struct stat status {};

  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : ~0U;
}

std::uint64_t counter(CubinStore& store, Counter counter) {
  return store.stats().counters[static_cast<std::size_t>(counter)];
}

std::string cache_test_data() {
  return QUANTJIT_CACHE_TEST_DATA;
}

}  // namespace quantjit::cache
