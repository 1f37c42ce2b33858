// SPDX-License-Identifier: Apache-2.0
// Recording what is asked for: one process, many, and some that die.
#include "src/io/manifest.hpp"
#include "src/service/recorder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_nvrtc_copy.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>
#include <quantjit/service.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace quantjit;
using quantjit::service::Recorder;
using quantjit::test::FakeNvrtc;
using quantjit::test::TemporaryDirectory;

namespace fs = std::filesystem;

namespace {

const Arch kHopper = Arch::parse("sm_90a");
const Arch kBlackwell = Arch::parse("sm_100a");

std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::vector<PrewarmItem> all_items() {
  std::vector<PrewarmItem> items;
  for (const Traits& traits : enumerate_traits()) {
    items.push_back({{traits, MathMode::kAuto}, kHopper});
  }
  return items;
}

void sort_by_text(std::vector<PrewarmItem>& items) {
  std::sort(items.begin(), items.end(), [](const PrewarmItem& a, const PrewarmItem& b) {
    return std::pair(to_text(a.descriptor), a.arch) < std::pair(to_text(b.descriptor), b.arch);
  });
}

/// Another process that notes every descriptor once, in an order of its own. Ends without cleaning
/// up, as an engine that is killed does.
pid_t start_writer(const std::string& path, unsigned seed) {
  std::vector<Traits> traits = enumerate_traits();
  std::shuffle(traits.begin(), traits.end(), std::mt19937(seed));
  const pid_t child = fork();
  if (child == 0) {
    Recorder recorder;
    recorder.start(path);
    for (const Traits& one : traits) {
      recorder.note(one, resolve_math({one, MathMode::kAuto}, kHopper), kHopper);
    }
    _exit(0);
  }
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("Recorder: each pair once, with what was noted before the file was named",
          "[service][record]") {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "trace";
  const Traits group = parse_descriptor("per_token_group_quant").traits;
  const Traits token = parse_descriptor("per_token_quant").traits;
  Recorder recorder;
  recorder.note(group, MathMode::kFast, kHopper);
  CHECK(recorder.start(path.string()));
  recorder.note(group, MathMode::kFast, kHopper);
  recorder.note(group, MathMode::kPrecise, kHopper);  // not what the target takes by itself
  recorder.note(group, MathMode::kPrecise, kBlackwell);
  recorder.note(token, MathMode::kFast, kHopper);
  recorder.note(token, MathMode::kFast, kHopper);
  const io::Trace trace = io::read_trace_file(path);
  CHECK(trace.torn == 0);
  CHECK(trace.records == std::vector<PrewarmItem>{{{group, MathMode::kAuto}, kHopper},
                                                  {{group, MathMode::kPrecise}, kHopper},
                                                  {{group, MathMode::kAuto}, kBlackwell},
                                                  {{token, MathMode::kAuto}, kHopper}});
  const std::string text = content_of(path);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);

  // Another file gets all of it; no file gets nothing more.
  CHECK(recorder.start((directory.path() / "second").string()));
  CHECK_FALSE(recorder.start(""));
  recorder.note(token, MathMode::kFast, kBlackwell);
  CHECK(content_of(directory.path() / "second") == text);
  CHECK(content_of(path) == text);
}

TEST_CASE("Recorder: a file that ends in a record that was cut off gets whole ones behind it",
          "[service][record]") {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "trace";
  std::ofstream(path) << R"({"quantjit_trace":1,"arch":"sm_90a","tra)";
  Recorder recorder;
  REQUIRE(recorder.start(path.string()));
  recorder.note(parse_descriptor("per_token_quant").traits, MathMode::kFast, kHopper);
  const io::Trace trace = io::read_trace_file(path);
  CHECK(trace.torn == 1);
  CHECK(trace.records.size() == 1);
}

TEST_CASE("Recorder: a file that cannot be written costs nothing but the record",
          "[service][record]") {
  const TemporaryDirectory directory;
  const Traits token = parse_descriptor("per_token_quant").traits;
  Recorder recorder;
  CHECK_FALSE(recorder.start((directory.path() / "no" / "such" / "folder").string()));
  recorder.note(token, MathMode::kFast, kHopper);
  CHECK_FALSE(recorder.start(directory.path().string()));
  // Opens, and refuses every write.
  Recorder full;
  full.note(token, MathMode::kFast, kHopper);
  CHECK_FALSE(full.start("/dev/full"));
  full.note(token, MathMode::kFast, kBlackwell);
}

TEST_CASE("Recorder: 8 processes append to one file at once, and no record is lost or mixed",
          "[service][record]") {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "trace").string();
  std::vector<pid_t> writers;
  for (unsigned seed = 0; seed < 8; ++seed) {
    writers.push_back(start_writer(path, seed));
  }
  for (const pid_t writer : writers) {
    CHECK(wait_for(writer) == 0);
  }
  std::vector<PrewarmItem> expected = all_items();
  io::Trace trace = io::read_trace_file(path);
  CHECK(trace.torn == 0);
  const std::string text = content_of(path);
  CHECK(std::count(text.begin(), text.end(), '{') ==
        static_cast<std::ptrdiff_t>(8 * expected.size()));
  sort_by_text(expected);
  sort_by_text(trace.records);
  CHECK(trace.records == expected);
}

TEST_CASE("Recorder: writers that are killed at any moment leave a file that reads",
          "[service][record]") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "trace").string();
  std::ofstream{path};
  std::size_t known = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t writer = start_writer(path, static_cast<unsigned>(random()));
    const auto size = fs::file_size(path) + random() % 200000;
    // Until it has written so much, or all it has to.
    int status = 0;
    while (fs::file_size(path) < size && waitpid(writer, &status, WNOHANG) == 0) {
      std::this_thread::yield();
    }
    kill(writer, SIGKILL);
    static_cast<void>(waitpid(writer, &status, 0));
    const io::Trace trace = io::read_trace_file(path);
    CHECK(trace.records.size() >= known);
    CHECK(trace.torn <= static_cast<std::size_t>(round) + 1);
    known = trace.records.size();
  }
  CHECK(known > 0);
}

TEST_CASE("KernelService: records what callers ask for, hits and misses, and not what it prewarms",
          "[service][record]") {
  const TemporaryDirectory root;
  const FakeNvrtc compiler("ptx");
  compiler.add_builtins();
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{(root.path() / "cache").string()};
  options.nvrtc = compiler.path().string();
  options.record = (root.path() / "trace").string();
  const Descriptor token = parse_descriptor("per_token_quant");
  const Descriptor group = parse_descriptor("per_token_group_quant:math=precise");
  {
    KernelService service(options);
    service.prewarm({{token, kHopper}, {parse_descriptor("per_token_quant:in=f16"), kHopper}});
    service.get_image(token, kHopper);
    service.get_image(token, kHopper);
    service.seal();
    CHECK_THROWS_AS(service.get_image(group, kHopper), SealedMiss);
    CHECK_THROWS_AS(service.get_image(group, kHopper), SealedMiss);
  }
  CHECK(read_trace(options.record) == std::vector<PrewarmItem>{{token, kHopper}, {group, kHopper}});

  // What was recorded prewarms the next one.
  ServiceOptions plain = options;
  plain.record.clear();
  KernelService next(plain);
  const PrewarmReport report = next.replay(options.record);
  CHECK(report.hits == 1);
  CHECK(report.compiled == 1);
  next.seal();
  CHECK_NOTHROW(next.get_image(group, kHopper));
  CHECK(next.record((root.path() / "late").string()));
  CHECK(read_trace((root.path() / "late").string()) == std::vector<PrewarmItem>{{group, kHopper}});
}

TEST_CASE("KernelService: a record that cannot be written fails no request", "[service][record]") {
  const TemporaryDirectory root;
  const FakeNvrtc compiler("ptx");
  compiler.add_builtins();
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{};
  options.nvrtc = compiler.path().string();
  options.record = (root.path() / "no" / "folder").string();
  KernelService service(options);
  CHECK_NOTHROW(service.get_image(parse_descriptor("per_token_quant"), kHopper));
  CHECK_FALSE(service.record("/dev/full"));
  CHECK_NOTHROW(service.get_image(parse_descriptor("per_token_group_quant"), kHopper));
}
