// SPDX-License-Identifier: Apache-2.0
// Sealing, with compilers that give their input back.
#include "tests/support/catch.hpp"
#include "tests/support/fake_nvrtc_copy.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>
#include <quantjit/service.hpp>

#include <string>

using namespace quantjit;
using quantjit::test::ContainsSubstring;
using quantjit::test::FakeNvrtc;
using quantjit::test::TemporaryDirectory;

namespace {

const Arch kHopper = Arch::parse("sm_90a");
const std::string kStored = "per_token_group_quant:group=64";
const std::string kMissing = "per_token_group_quant:group=32";

ServiceOptions options_in(const TemporaryDirectory& root, const FakeNvrtc& compiler) {
  ServiceOptions options;
  options.cache_roots = std::vector<std::string>{root.path().string()};
  options.nvrtc = compiler.path().string();
  return options;
}

ImageSource source_of(KernelService& service, const std::string& text) {
  ImageSource source{};
  service.get_image(parse_descriptor(text), kHopper, &source);
  return source;
}

std::string miss_of(KernelService& service, const std::string& text) {
  try {
    source_of(service, text);
  } catch (const SealedMiss& miss) {
    return miss.what();
  }
  return "no miss";
}

}  // namespace

TEST_CASE("seal: memory and disk are read, and a miss says what is near and how to prewarm it",
          "[service][seal]") {
  const TemporaryDirectory root;
  const FakeNvrtc compiler("ptx");
  compiler.add_builtins();
  const ServiceOptions options = options_in(root, compiler);
  KernelService writer(options);
  const std::string key = writer.get_image(parse_descriptor(kStored), kHopper).info().key;

  KernelService service(options);
  CHECK_FALSE(service.sealed());
  CHECK(source_of(service, "per_token_quant") == ImageSource::kCompiled);
  service.seal();
  service.seal();
  CHECK(service.sealed());
  CHECK(source_of(service, "per_token_quant") == ImageSource::kMemory);
  CHECK(source_of(service, kStored) == ImageSource::kDisk);

  const std::string message = miss_of(service, kMissing);
  const std::string canonical = to_text(parse_descriptor(kMissing));
  CHECK_THAT(message, ContainsSubstring(canonical + " for sm_90a"));
  CHECK_THAT(message, ContainsSubstring("the service is sealed"));
  CHECK_THAT(message, ContainsSubstring(key));
  CHECK_THAT(message, ContainsSubstring("traits.group"));
  CHECK_THAT(message, ContainsSubstring("quantjit prewarm '" + canonical + "' --arch sm_90a"));
  CHECK_THROWS_AS(service.compile(parse_descriptor(kStored), kHopper), SealedMiss);
  CHECK(service.stats().compiles == 1);
  CHECK(service.stats().sealed_misses == 1);
  CHECK(writer.stats().sealed_misses == 0);
}

TEST_CASE("seal: the command names the mode and the code kind where they are not the usual ones",
          "[service][seal]") {
  const TemporaryDirectory root;
  const FakeNvrtc compiler("ptx");
  ServiceOptions options = options_in(root, compiler);
  options.math = MathMode::kPrecise;
  options.code = CodeKind::kPtx;
  KernelService service(options);
  service.seal();
  const std::string canonical = to_text(parse_descriptor(kMissing).traits);
  CHECK_THAT(miss_of(service, kMissing),
             ContainsSubstring("quantjit prewarm '" + canonical +
                               ",math=precise' --arch sm_90a --code ptx"));
  // Exact numerics are precise in any case.
  CHECK_THAT(miss_of(service, "per_token_quant:numerics=exact"),
             !ContainsSubstring(",math=") && ContainsSubstring("--arch sm_90a"));
}

TEST_CASE("seal: entries of any compiler are taken, from the start with jit off too",
          "[service][seal]") {
  const TemporaryDirectory root;
  const FakeNvrtc compiler("ptx");
  compiler.add_builtins();
  {
    KernelService writer(options_in(root, compiler));
    source_of(writer, kStored);
  }
  const FakeNvrtc other("alone");
  const ServiceOptions options = options_in(root, other);
  {
    KernelService unsealed(options);  // asks its own compiler, which lacks a part
    CHECK_THROWS_AS(source_of(unsealed, kStored), CompileError);
    unsealed.seal();
    CHECK_FALSE(unsealed.get_image(parse_descriptor(kStored), kHopper).info().toolchain_match);
  }
  ServiceOptions off = options;
  off.jit = false;
  KernelService service(off);
  CHECK(service.sealed());
  CHECK(source_of(service, kStored) == ImageSource::kDisk);
  CHECK_THAT(miss_of(service, kMissing), ContainsSubstring("QUANTJIT_JIT=off"));
  CHECK_FALSE(service.stats().nvrtc_loaded);
}
