// SPDX-License-Identifier: Apache-2.0
// What the store costs, beside its floors in the same process; one JSON object on standard output.
//
// usage: cache_overhead [DIRECTORY]
//
// - hit: a verified hit of a 20 KB entry; its floor reads the same file and hashes its bytes
// - verify: a look at 10,000 entries
// - eviction: 4 processes write 2,000 entries into a quarter of the room that those need, while
//   another one reads and a few entries are pinned
// Works below DIRECTORY (default: the system's directory for temporary files), which should lie on
// the file system of interest. Exit status 1 if an entry was lost or wrong.
#include "cache/store.hpp"
#include "src/base/sha256.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/child_process.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <stdlib.h>  // mkdtemp
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace quantjit::cache {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kCodeBytes = 20000;
constexpr std::uint64_t kVerified = 10000;
constexpr std::uint64_t kWritten = 2000;
constexpr int kWriters = 4;
constexpr std::uint64_t kPinned = 16;
constexpr std::uint64_t kPinnedSeed = 1000000;

double seconds_since(Steady::time_point start) {
  return std::chrono::duration<double>(Steady::now() - start).count();
}

/// Times of blocks of calls: their median, and the least of them, which a busy machine disturbs
/// least.
struct Times {
  double median;
  double least;

  explicit Times(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    median = values[values.size() / 2];
    least = values.front();
  }
};

/// Microseconds a call, over a block of calls.
template <typename Call>
double time_block(Call call) {
  constexpr int kCalls = 20;
  const auto start = Steady::now();
  for (int i = 0; i < kCalls; ++i) {
    call();
  }
  return seconds_since(start) / kCalls * 1e6;
}

/// Reads a file and hashes all of it, with nothing around it. False if that fails.
bool read_and_hash(const std::string& path, std::string& bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);

  struct stat status {};

  bool good = file >= 0 && ::fstat(file, &status) == 0;
  if (good) {
    bytes.resize(static_cast<std::size_t>(status.st_size));
    good = ::read(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    volatile std::uint8_t sink = base::sha256(bytes)[0];
    static_cast<void>(sink);
  }
  ::close(file);
  return good;
}

bool measure_hit(const std::string& directory) {
  CaughtWarnings warnings;
  CubinStore store(options_for({directory}, warnings));
  const Entry entry = make_entry(1, kCodeBytes);
  const std::string path = store.publish(entry).path;
  std::vector<double> hits;
  std::vector<double> floors;
  std::string bytes;
  bool good = true;
  for (int round = 0; round < 300; ++round) {  // in turns, so that drift of the machine hits both
    hits.push_back(
        time_block([&] { good = store.lookup(entry.key, entry.key_text).found() && good; }));
    floors.push_back(time_block([&] { good = read_and_hash(path, bytes) && good; }));
  }
  const Times hit(std::move(hits));
  const Times floor(std::move(floors));
  std::printf(
      "  \"hit\": {\"file_bytes\": %zu, \"us\": %.1f, \"read_and_hash_us\": %.1f, "
      "\"ratio\": %.2f, \"least_us\": %.1f, \"least_read_and_hash_us\": %.1f},\n",
      bytes.size(), hit.median, floor.median, hit.median / floor.median, hit.least, floor.least);
  return good;
}

bool measure_verify(const std::string& directory) {
  CaughtWarnings warnings;
  CubinStore store(options_for({directory}, warnings));
  const auto start = Steady::now();
  for (std::uint64_t i = 0; i < kVerified; ++i) {
    store.publish(make_entry(i, kCodeBytes));
  }
  const double publishing = seconds_since(start);
  const std::uint64_t bytes = store.stats().bytes;
  const auto verify_start = Steady::now();
  const VerifyReport report = store.verify();
  const double verifying = seconds_since(verify_start);
  std::printf(
      "  \"verify\": {\"entries\": %llu, \"bytes\": %llu, \"seconds\": %.3f, "
      "\"entries_per_s\": %.0f, \"mb_per_s\": %.0f, \"publish_us\": %.1f},\n",
      static_cast<unsigned long long>(report.checked), static_cast<unsigned long long>(bytes),
      verifying, static_cast<double>(report.checked) / verifying,
      static_cast<double>(bytes) / 1e6 / verifying,
      publishing * 1e6 / static_cast<double>(kVerified));
  return report.checked == kVerified && report.bad.empty();
}

/// Pinned entries that are not there any more.
std::uint64_t count_lost(CubinStore& store) {
  std::uint64_t lost = 0;
  for (std::uint64_t i = 0; i < kPinned; ++i) {
    const Entry entry = make_entry(kPinnedSeed + i, kCodeBytes);
    lost += store.lookup(entry.key, entry.key_text).found() ? 0 : 1;
  }
  return lost;
}

bool measure_eviction(const std::string& directory) {
  const std::uint64_t limit = kWritten * kCodeBytes / 4;
  CaughtWarnings warnings;
  StoreOptions options = options_for({directory}, warnings);
  options.max_bytes = limit;
  CubinStore store(options);
  for (std::uint64_t i = 0; i < kPinned; ++i) {
    store.publish(make_entry(kPinnedSeed + i, kCodeBytes));
    store.pin(make_entry(kPinnedSeed + i).key);
  }
  const std::string code_bytes = std::to_string(kCodeBytes);
  ChildProcess reader(
      {"use", directory, std::to_string(kPinnedSeed), std::to_string(kPinned), code_bytes});
  const bool started = reader.read_line() == "started";
  const auto start = Steady::now();
  std::vector<ChildProcess> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back(std::vector<std::string>{
        "publish", directory, std::to_string(static_cast<std::uint64_t>(i) * kWritten),
        std::to_string(kWritten / kWriters), code_bytes, std::to_string(limit)});
  }
  std::uint64_t stood = 0;
  for (ChildProcess& writer : writers) {
    stood += std::stoull(writer.read_line());
    writer.wait();
  }
  const double seconds = seconds_since(start);
  reader.release();
  const std::uint64_t wrong = std::stoull(reader.read_line());
  const std::uint64_t bad = store.verify().bad.size();
  const std::uint64_t lost = count_lost(store);
  const std::uint64_t bytes = store.stats().bytes;
  std::printf(
      "  \"eviction\": {\"writers\": %d, \"written\": %llu, \"seconds\": %.3f, "
      "\"limit_bytes\": %llu, \"final_bytes\": %llu, \"of_limit\": %.3f, \"wrong_reads\": %llu, "
      "\"pinned_lost\": %llu, \"bad_entries\": %llu}\n",
      kWriters, static_cast<unsigned long long>(stood), seconds,
      static_cast<unsigned long long>(limit), static_cast<unsigned long long>(bytes),
      static_cast<double>(bytes) / static_cast<double>(limit),
      static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(lost),
      static_cast<unsigned long long>(bad));
  return started && stood == kWritten && wrong == 0 && bad == 0 && lost == 0 &&
         bytes <= limit + limit / 10;
}

int run(const std::string& parent) {
  std::string directory = parent + "/quantjit-overhead-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) {
    std::fprintf(stderr, "cache_overhead: no directory can be made below %s\n", parent.c_str());
    return 2;
  }
  std::printf("{\n");
  const bool hit = measure_hit(directory + "/hit");
  const bool verify = measure_verify(directory + "/verify");
  const bool eviction = measure_eviction(directory + "/eviction");
  std::printf("}\n");
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return hit && verify && eviction ? 0 : 1;
}

}  // namespace
}  // namespace quantjit::cache

int main(int argc, char** argv) {
  return quantjit::cache::run(argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string());
}
