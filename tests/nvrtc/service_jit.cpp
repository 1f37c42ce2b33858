// SPDX-License-Identifier: Apache-2.0
// The service with a real NVRTC and a real store, without a GPU.
#include "kernels/embedded.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>
#include <quantjit/service.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace quantjit;
using quantjit::test::ContainsSubstring;
using quantjit::test::TemporaryDirectory;

namespace fs = std::filesystem;

namespace {

const std::string kText = "per_token_group_quant:group=128,scale=ue8m0,layout=col";
const Arch kArch = Arch::parse("sm_90a");

ServiceOptions options_in(const fs::path& root) {
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{root.string()};
  return options;
}

ServiceOptions without_nvrtc(ServiceOptions options) {
  options.nvrtc = "/quantjit-not-there/libnvrtc.so";
  return options;
}

std::vector<fs::path> entries_in(const fs::path& root) {
  std::vector<fs::path> entries;
  for (const auto& file : fs::recursive_directory_iterator(root)) {
    if (file.path().extension() == ".qjc" &&
        file.path().parent_path().filename().string().size() == 2) {
      entries.push_back(file.path());
    }
  }
  return entries;
}

ImageSource source_of(KernelService& service, const std::string& text = kText,
                      const Arch& arch = kArch) {
  ImageSource source{};
  service.get_image(parse_descriptor(text), arch, &source);
  return source;
}

void write_file(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_embedded_kernels(const fs::path& directory) {
  for (const auto& source : kernels::embedded_sources()) {
    write_file(directory / source.path, std::string(source.text));
  }
}

}  // namespace

TEST_CASE("KernelService: cold compiles, the same service remembers, the next one reads the disk",
          "[nvrtc]") {
  const TemporaryDirectory root;
  {
    KernelService service(options_in(root.path()));
    CHECK_FALSE(service.stats().nvrtc_loaded);
    CHECK(source_of(service) == ImageSource::kCompiled);
    CHECK(source_of(service) == ImageSource::kMemory);
    CHECK(service.stats().compiles == 1);
    CHECK(service.stats().nvrtc_loaded);
  }
  KernelService next(options_in(root.path()));
  ImageSource source{};
  const Image image = next.get_image(parse_descriptor(kText), kArch, &source);
  CHECK(source == ImageSource::kDisk);
  CHECK(next.stats().compiles == 0);
  CHECK(next.stats().disk_hits == 1);
  CHECK_FALSE(next.stats().nvrtc_loaded);
  const ImageInfo& info = image.info();
  CHECK(info.traits == to_text(parse_descriptor(kText).traits));
  CHECK(info.math == MathMode::kFast);
  CHECK(info.toolchain_match);
  CHECK(fs::exists(info.path));
  REQUIRE_FALSE(info.entry_points.empty());
  for (const EntryPointInfo& entry : info.entry_points) {
    INFO(entry.name);
    CHECK(entry.registers > 0);
    CHECK(entry.spill_bytes == 0);
    CHECK(entry.pdl_wait);
  }
  CHECK(image.code().size() > 1000);
}

TEST_CASE(
    "KernelService: with NVRTC hidden a cached descriptor is a hit and any other a CompileError",
    "[nvrtc]") {
  const TemporaryDirectory root;
  {
    KernelService service(options_in(root.path()));
    source_of(service);
  }
  KernelService service(without_nvrtc(options_in(root.path())));
  ImageSource source{};
  const Image image = service.get_image(parse_descriptor(kText), kArch, &source);
  CHECK(source == ImageSource::kDisk);
  CHECK_FALSE(image.info().toolchain_match);
  try {
    source_of(service, "per_token_group_quant:group=64");
    FAIL("it compiled without a compiler");
  } catch (const CompileError& error) {
    CHECK(error.details().nvrtc_path == "/quantjit-not-there/libnvrtc.so");
    CHECK_THAT(error.what(), ContainsSubstring("/quantjit-not-there/libnvrtc.so"));
  }
}

TEST_CASE("KernelService: jit=false serves hits of any toolchain and names what misses",
          "[nvrtc]") {
  const TemporaryDirectory root;
  {
    KernelService service(options_in(root.path()));
    source_of(service);
  }
  ServiceOptions options = options_in(root.path());
  options.jit = false;
  KernelService service(options);
  CHECK(source_of(service) == ImageSource::kDisk);
  CHECK_THROWS_AS(source_of(service, "per_token_group_quant:group=64"), SealedMiss);
  CHECK_THROWS_WITH(source_of(service, "per_token_group_quant:group=64,scale=ue8m0,layout=col"),
                    ContainsSubstring("group=64") && ContainsSubstring("traits.group") &&
                        ContainsSubstring("quantjit prewarm"));
  CHECK(service.stats().compiles == 0);
}

TEST_CASE("KernelService: the families and every arch compile with no header but our own",
          "[nvrtc]") {
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{};
  KernelService service(options);
  for (const char* const arch : {"sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103a",
                                 "sm_103f", "sm_120", "sm_120a", "sm_120f"}) {
    INFO(arch);
    const Image image = service.get_image(parse_descriptor(kText), Arch::parse(arch));
    CHECK(image.info().arch == Arch::parse(arch));
    CHECK(image.info().math ==
          (std::string(arch).starts_with("sm_90") ? MathMode::kFast : MathMode::kPrecise));
  }
  CHECK(service.stats().compiles == 10);
}

TEST_CASE("KernelService: an arch that NVRTC does not know is named with those it does",
          "[nvrtc]") {
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{};
  KernelService service(options);
  CHECK_THROWS_AS(source_of(service, kText, Arch{9, 9, 'a'}), CompileError);
  CHECK_THROWS_WITH(source_of(service, kText, Arch{9, 9, 'a'}),
                    ContainsSubstring("sm_99a") && ContainsSubstring("sm_100a"));
}

TEST_CASE("KernelService: every kind of damage is a miss, compiled again, then a hit", "[nvrtc]") {
  const TemporaryDirectory root;
  KernelService first(options_in(root.path()));
  source_of(first);
  REQUIRE(entries_in(root.path()).size() == 1);
  const fs::path entry = entries_in(root.path()).front();
  const std::string good = content_of(entry);

  std::vector<std::pair<std::string, std::string>> damages = {
      {"empty", ""},
      {"truncated", good.substr(0, good.size() / 2)},
      {"one byte short", good.substr(0, good.size() - 1)},
      {"zeros", std::string(good.size(), '\0')}};
  for (const double where : {0.0, 0.1, 0.5, 0.9, 0.999}) {
    std::string flipped = good;
    auto& byte = flipped[static_cast<std::size_t>(where * static_cast<double>(good.size()))];
    byte = static_cast<char>(byte ^ 0x10);
    damages.emplace_back("flipped at " + std::to_string(where), flipped);
  }
  for (const auto& [what, bytes] : damages) {
    INFO(what);
    write_file(entry, bytes);
    KernelService service(options_in(root.path()));
    CHECK(source_of(service) == ImageSource::kCompiled);
    CHECK(service.stats().rejected_entries >= 1);
    KernelService next(options_in(root.path()));
    CHECK(source_of(next) == ImageSource::kDisk);
  }
}

TEST_CASE("KernelService: an entry under another key's name is not believed", "[nvrtc]") {
  const TemporaryDirectory root;
  KernelService first(options_in(root.path()));
  source_of(first);
  const fs::path victim = entries_in(root.path()).front();
  source_of(first, "per_token_group_quant:group=64");
  fs::path other;
  for (const fs::path& entry : entries_in(root.path())) {
    if (entry != victim) {
      other = entry;
    }
  }
  REQUIRE_FALSE(other.empty());
  fs::copy_file(other, victim, fs::copy_options::overwrite_existing);
  KernelService service(options_in(root.path()));
  const Image image = service.get_image(parse_descriptor(kText), kArch);
  CHECK(service.stats().compiles == 1);
  CHECK(image.info().traits == to_text(parse_descriptor(kText).traits));
}

TEST_CASE(
    "KernelService: an edited kernel directory compiles under a new key, and the old text hits "
    "again",
    "[nvrtc]") {
  const TemporaryDirectory root;
  const TemporaryDirectory kernels;
  write_embedded_kernels(kernels.path());
  ServiceOptions options = options_in(root.path());
  options.kernel_dir = kernels.path().string();
  KernelService service(options);
  CHECK(source_of(service) == ImageSource::kCompiled);
  {
    KernelService embedded(options_in(root.path()));
    CHECK(source_of(embedded) == ImageSource::kDisk);  // same content, same key
  }
  const fs::path file = kernels.path() / "per_token_group_quant.cuh";
  const std::string original = content_of(file);
  write_file(file, original + "// edited\n");
  service.reload_sources();
  CHECK(source_of(service) == ImageSource::kCompiled);
  write_file(file, original);
  service.reload_sources();
  CHECK(source_of(service) == ImageSource::kDisk);
}

TEST_CASE("KernelService: a broken kernel source gives its log and place, and caches nothing",
          "[nvrtc]") {
  const TemporaryDirectory root;
  const TemporaryDirectory kernels;
  write_embedded_kernels(kernels.path());
  const fs::path file = kernels.path() / "per_token_group_quant.cuh";
  const std::string original = content_of(file);
  const auto lines = std::count(original.begin(), original.end(), '\n');
  write_file(file, original + "int broken = undeclared_name;\n");
  ServiceOptions options = options_in(root.path());
  options.kernel_dir = kernels.path().string();
  KernelService service(options);
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      source_of(service);
      FAIL("it compiled");
    } catch (const CompileError& error) {
      CHECK_THAT(error.details().log, ContainsSubstring("undeclared_name"));
      CHECK_THAT(error.details().log,
                 ContainsSubstring("per_token_group_quant.cuh(" + std::to_string(lines + 1) + ")"));
      CHECK(error.details().arch == "sm_90a");
      CHECK_FALSE(error.details().options.empty());
      CHECK_FALSE(error.details().nvrtc_version.empty());
      CHECK_THAT(error.details().traits, ContainsSubstring("per_token_group_quant"));
    }
  }
  CHECK(service.stats().compile_failures == 2);
  CHECK((!fs::exists(root.path() / "v1") || entries_in(root.path()).empty()));
}

TEST_CASE("KernelService: 16 threads on one cold key compile once", "[nvrtc]") {
  const TemporaryDirectory root;
  KernelService service(options_in(root.path()));
  std::vector<std::string> keys(16);
  {
    std::vector<std::jthread> threads;
    for (std::string& key : keys) {
      threads.emplace_back(
          [&] { key = service.get_image(parse_descriptor(kText), kArch).info().key; });
    }
  }
  CHECK(service.stats().compiles == 1);
  CHECK(keys == std::vector<std::string>(16, keys.front()));
}

TEST_CASE("KernelService: explain tells a hit from a miss and names what differs", "[nvrtc]") {
  const TemporaryDirectory root;
  KernelService service(options_in(root.path()));
  const Descriptor descriptor = parse_descriptor(kText);
  Explanation explanation = service.explain(descriptor, kArch);
  CHECK_FALSE(explanation.hit);
  CHECK(explanation.nearest_key.empty());
  const Image image = service.get_image(descriptor, kArch);
  explanation = service.explain(descriptor, kArch);
  CHECK(explanation.hit);
  CHECK(explanation.key == image.info().key);
  CHECK(fs::exists(explanation.path));

  explanation = service.explain(parse_descriptor(kText + ",math=precise"), kArch);
  CHECK_FALSE(explanation.hit);
  CHECK(explanation.nearest_key == image.info().key);
  bool names_math = false;
  for (const auto& difference : explanation.differs) {
    if (difference.field == "math") {
      names_math = true;
      CHECK(difference.wanted == "precise");
      CHECK(difference.found == "fast");
    }
    CHECK(difference.field.substr(0, 6) != "traits");
  }
  CHECK(names_math);
  CHECK(service.stats().compiles == 1);
}

TEST_CASE("KernelService: PTX is another entry than the cubin of the same descriptor", "[nvrtc]") {
  const TemporaryDirectory root;
  ServiceOptions options = options_in(root.path());
  KernelService cubin(options);
  const Image first = cubin.get_image(parse_descriptor(kText), kArch);
  options.code = CodeKind::kPtx;
  KernelService ptx(options);
  const Image second = ptx.get_image(parse_descriptor(kText), kArch);
  CHECK(first.info().key != second.info().key);
  const std::string text(reinterpret_cast<const char*>(second.code().data()), second.code().size());
  CHECK_THAT(text, ContainsSubstring(".target sm_90a"));
  CHECK(second.info().entry_points.front().pdl_wait);
  CHECK(entries_in(root.path()).size() == 2);
}

TEST_CASE("KernelService: no writable root still serves from memory", "[nvrtc]") {
  const TemporaryDirectory root;
  write_file(root.path() / "file", "not a directory");
  KernelService service(options_in(root.path() / "file"));
  CHECK(source_of(service) == ImageSource::kCompiled);
  CHECK(source_of(service) == ImageSource::kMemory);
}
