// SPDX-License-Identifier: Apache-2.0
// The whole key, as the name of an entry: what changes it, what must not, and that it is unique.
#include "cache/entry.hpp"
#include "kernels/embedded.hpp"
#include "src/base/sha256.hpp"
#include "src/nvrtc/build_id.hpp"
#include "src/service/request.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/temporary_directory.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

using namespace quantjit;
using namespace quantjit::service;
using quantjit::test::TemporaryDirectory;

namespace fs = std::filesystem;

namespace {

// A kernel whose last header is three includes deep.
const std::map<std::string, std::string> kKernel = {
    {"per_token_group_quant.cuh", "#include \"first.cuh\"\nint kernel;\n"},
    {"first.cuh", "#include \"deep/second.h\"\nint first;\n"},
    {"deep/second.h", "#include \"deep/third.h\"\nint second;\n"},
    {"deep/third.h", "int third = 1;\n"},
    {"unreached.cuh", "#include \"deep/third.h\"\nint unreached;\n"}};

void write_file(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

/// As tools leave it that keep or fake times: nothing about the file's age says that it changed.
void set_time_to_1990(const fs::path& path) {
  const auto since_1990 =
      std::chrono::system_clock::now().time_since_epoch() - std::chrono::seconds(631152000);
  fs::last_write_time(path,
                      fs::file_time_type::clock::now() -
                          std::chrono::duration_cast<fs::file_time_type::duration>(since_1990));
}

/// All that a key is made of, as it lies on a disk.
struct World {
  TemporaryDirectory directory;
  fs::path kernels = directory.path() / "kernels";
  fs::path nvrtc = directory.path() / "libnvrtc.so";
  std::string descriptor = "per_token_group_quant:group=64";
  std::string arch = "sm_90a";
  MathMode math = MathMode::kAuto;
  CodeKind code = CodeKind::kCubin;
  std::string schema = std::string(kKeySchema);
  std::string more_options;  // beside those of the specialization
  std::string more_names;

  World() {
    for (const auto& [path, text] : kKernel) {
      write_source(path, text);
    }
    write_nvrtc("0123456789abcdefghij");
  }

  void write_source(const std::string& path, std::string_view text) const {
    write_file(kernels / path, text);
    set_time_to_1990(kernels / path);
  }

  void write_nvrtc(std::string_view build_id) const {
    const auto image = test::image_with_segment(test::note("GNU", NT_GNU_BUILD_ID, build_id));
    write_file(nvrtc, {reinterpret_cast<const char*>(image.data()), image.size()});
  }

  /// Name of the entry, computed anew from the disk as another process would.
  [[nodiscard]] std::string key() const {
    Request request = make_request(parse_descriptor(descriptor), Arch::parse(arch), math, code,
                                   KernelSources::from_directory(kernels.string()));
    if (!more_options.empty()) {
      request.specialization.options.push_back(more_options);
    }
    if (!more_names.empty()) {
      request.specialization.name_expressions.push_back(more_names);
    }
    nvrtc::IdentityCache identities;
    const auto identity = identities.identify(nvrtc);
    REQUIRE(identity.has_value());
    const cache::EntryKey name{base::to_hex(base::sha256(make_key_text(request, schema))),
                               identity->short_form()};
    REQUIRE(name.valid());
    return name.name();
  }
};

struct Change {
  const char* what;
  std::function<void(World&)> make;
  std::function<void(World&)> put_back;
};

/// A change of one member of a world.
template <typename T>
Change member(const char* what, T World::*which, T changed) {
  const T before = World().*which;
  return {what, [=](World& world) { world.*which = changed; },
          [=](World& world) { world.*which = before; }};
}

/// A change of one source file.
Change source(const char* what, const std::string& path, const std::string& text) {
  return {what, [=](World& world) { world.write_source(path, text); },
          [=](World& world) { world.write_source(path, kKernel.at(path)); }};
}

std::vector<Change> changes_that_count() {
  using Text = std::string;
  return {
      source("a byte three includes deep", "deep/third.h", "int third = 2;\n"),
      source("a byte two includes deep", "deep/second.h",
             "#include \"deep/third.h\"\nint Second;\n"),
      source("a line end in the kernel", "per_token_group_quant.cuh",
             kKernel.at("per_token_group_quant.cuh") + "\n"),
      source("a header that joins", "first.cuh",
             "#include \"unreached.cuh\"\n" + kKernel.at("first.cuh")),
      member("a trait", &World::descriptor, Text("per_token_group_quant:group=128")),
      member("a trait that is a flag", &World::descriptor,
             Text("per_token_group_quant:group=64,pdl=false")),
      member("the math mode in the text", &World::descriptor,
             Text("per_token_group_quant:group=64,math=precise")),
      member("the target", &World::arch, Text("sm_100a")),
      member("the suffix of the target", &World::arch, Text("sm_90")),
      member("the family of a target", &World::arch, Text("sm_100f")),
      member("the code kind", &World::code, CodeKind::kPtx),
      member("the schema", &World::schema, Text("2")),
      member("a compile flag", &World::more_options, Text("--use_fast_math")),
      member("another compile flag", &World::more_options, Text("--use_fast_math ")),
      member("an entry point", &World::more_names, Text("quantjit::other<1>")),
      {"the build of NVRTC", [](World& world) { world.write_nvrtc("0123456X89abcdefghij"); },
       [](World& world) { world.write_nvrtc("0123456789abcdefghij"); }},
  };
}

/// Changes that cannot reach the kernel.
std::vector<Change> changes_that_do_not() {
  const auto nothing = [](World&) {};
  return {
      source("a header that nothing includes", "unreached.cuh", "int other;\n"),
      {"a new header", [](World& world) { world.write_source("new/one.h", "int one;\n"); },
       nothing},
      {"a file of another kind", [](World& world) { write_file(world.kernels / "README", "?"); },
       nothing},
      {"the time of a header",
       [](World& world) {
         fs::last_write_time(world.kernels / "deep/third.h", fs::file_time_type::clock::now());
       },
       [](World& world) { set_time_to_1990(world.kernels / "deep/third.h"); }},
      {"the place of the sources",
       [](World& world) {
         const fs::path moved =
             world.directory.path() / "with blank/\"quotes'/\xe7\xbc\x93\xe5\xad\x98";
         fs::create_directories(moved.parent_path());
         fs::rename(world.kernels, moved);
         world.kernels = moved;
       },
       nothing},
      {"the place of NVRTC",
       [](World& world) {
         fs::rename(world.nvrtc, world.directory.path() / "libnvrtc.so.13");
         world.nvrtc = world.directory.path() / "libnvrtc.so.13";
       },
       nothing},
      member("the order of the keys in the text", &World::descriptor,
             std::string("per_token_group_quant:pdl=true,group=64")),
      member("a math preference that is the default anyway", &World::math, MathMode::kFast),
  };
}

}  // namespace

TEST_CASE("key: each ingredient alone changes it, and the old key is back when it is put back",
          "[service][key]") {
  World world;
  const std::string original = world.key();
  std::set<std::string> seen{original};
  for (const Change& change : changes_that_count()) {
    INFO(change.what);
    change.make(world);
    CHECK(seen.insert(world.key()).second);
    change.put_back(world);
    CHECK(world.key() == original);
  }
  CHECK(seen.size() == changes_that_count().size() + 1);
}

TEST_CASE("key: what cannot reach the kernel leaves it", "[service][key]") {
  World world;
  const std::string original = world.key();
  for (const Change& change : changes_that_do_not()) {
    INFO(change.what);
    change.make(world);
    CHECK(world.key() == original);
    change.put_back(world);
    CHECK(world.key() == original);
  }
}

TEST_CASE("key: the build of NVRTC is the second part, and nothing else is", "[service][key]") {
  World world;
  const auto original = cache::EntryKey::parse(world.key());
  world.write_nvrtc("X123456789abcdefghij");
  const auto other_nvrtc = cache::EntryKey::parse(world.key());
  world.arch = "sm_100a";
  const auto other_both = cache::EntryKey::parse(world.key());
  REQUIRE((original && other_nvrtc && other_both));
  CHECK(original->request == other_nvrtc->request);
  CHECK(original->toolchain != other_nvrtc->toolchain);
  CHECK(other_both->request != other_nvrtc->request);
  CHECK(other_both->toolchain == other_nvrtc->toolchain);
}

TEST_CASE("key: 100,000 distinct inputs have 100,000 keys", "[service][key]") {
  constexpr std::size_t kInputs = 100000;
  const std::vector<Traits> all = enumerate_traits();
  const auto sources = KernelSources::embedded();
  std::unordered_set<std::string> inputs;
  std::unordered_set<std::string> keys;
  const auto add = [&](const Traits& traits, const Arch& arch, MathMode preference, CodeKind code) {
    const Descriptor descriptor{traits, MathMode::kAuto};
    const MathMode math = resolve_math(descriptor, arch, preference);
    const std::string input = to_text(traits) + '|' + arch.to_string() + '|' +
                              std::string(to_string(math)) + '|' + std::string(to_string(code));
    if (inputs.size() < kInputs && inputs.insert(input).second) {
      keys.insert(make_request(descriptor, arch, preference, code, sources).id);
    }
  };
  for (const char* const arch :
       {"sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_103f", "sm_110a",
        "sm_110f", "sm_120", "sm_120a", "sm_120f", "sm_121a", "sm_121f"}) {
    for (const Traits& traits : all) {
      for (const CodeKind code : {CodeKind::kCubin, CodeKind::kPtx}) {
        // A preference that changes nothing makes no other input.
        add(traits, Arch::parse(arch), MathMode::kFast, code);
        add(traits, Arch::parse(arch), MathMode::kPrecise, code);
      }
    }
  }
  CHECK(inputs.size() == kInputs);
  CHECK(keys.size() == kInputs);
}
