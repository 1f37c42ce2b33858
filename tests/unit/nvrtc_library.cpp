// SPDX-License-Identifier: Apache-2.0
// Loading a compiler library and what is said when it cannot be used.
#include "src/nvrtc/nvrtc.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_nvrtc_copy.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>

#include <filesystem>
#include <fstream>
#include <stdexcept>

using namespace quantjit;
using nvrtc::CompileRequest;
using nvrtc::Nvrtc;
using quantjit::test::ContainsSubstring;
using quantjit::test::FakeNvrtc;
using quantjit::test::TemporaryDirectory;

namespace {

template <typename Call>
CompileError compile_error_of(Call&& call) {
  try {
    call();
  } catch (const CompileError& error) {
    return error;
  }
  throw std::logic_error("the call was expected to throw a CompileError and did not");
}

CompileRequest request_for(const char* arch) {
  CompileRequest request;
  request.source = {"kernel.cu", "text"};
  request.arch = Arch::parse(arch);
  request.traits = "op:key=value";
  return request;
}

}  // namespace

TEST_CASE("Nvrtc: constructing it loads nothing, not even a library that is not there", "[nvrtc]") {
  const Nvrtc compiler("/nowhere/libnvrtc.so.13");
  CHECK_FALSE(compiler.is_loaded());
  CHECK(compiler.path() == "/nowhere/libnvrtc.so.13");
}

TEST_CASE("Nvrtc: a library that cannot be loaded is named with the loader's reason", "[nvrtc]") {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "libnvrtc.so.13";
  const Nvrtc missing(path);
  CHECK_THAT(compile_error_of([&] { (void)missing.version(); }).what(),
             ContainsSubstring(path.string()) && ContainsSubstring("QUANTJIT_NVRTC"));
  std::ofstream(path) << "junk";
  const auto error = compile_error_of([&] { (void)missing.compile(request_for("sm_90a")); });
  CHECK(error.details().nvrtc_path == path.string());
  CHECK_THAT(error.what(),
             ContainsSubstring("invalid ELF header") || ContainsSubstring("too short"));
  CHECK_FALSE(missing.is_loaded());
}

TEST_CASE("Nvrtc: a version that is too old is told before anything else of it is used",
          "[nvrtc]") {
  const FakeNvrtc fake("too_old");
  const Nvrtc compiler(fake.path());
  const auto error = compile_error_of([&] { (void)compiler.supported_archs(); });
  CHECK_THAT(error.what(), ContainsSubstring("NVRTC 12.7"));
  CHECK_THAT(error.what(), ContainsSubstring("older than 12.8"));
  CHECK(error.details().nvrtc_version == "12.7");
  CHECK_FALSE(compiler.is_loaded());
}

TEST_CASE("Nvrtc: a missing entry point is named", "[nvrtc]") {
  const FakeNvrtc fake("incomplete");
  const Nvrtc compiler(fake.path());
  CHECK_THAT(compile_error_of([&] { (void)compiler.version(); }).what(),
             ContainsSubstring("has no nvrtcGetErrorString"));
}

TEST_CASE("Nvrtc: targets are listed lowest first, with the forms that the version has",
          "[nvrtc]") {
  const auto texts = [](const Nvrtc& compiler) {
    std::string text;
    for (const Arch& arch : compiler.supported_archs()) {
      text += arch.to_string() + " ";
    }
    return text;
  };
  const FakeNvrtc newer("complete");
  CHECK(texts(Nvrtc(newer.path())) == "sm_90 sm_90a sm_100 sm_100a sm_100f ");
  const FakeNvrtc first("first");  // families came with 12.9
  CHECK(texts(Nvrtc(first.path())) == "sm_90 sm_90a sm_100 sm_100a ");
  CHECK_FALSE(Nvrtc(first.path()).supports(Arch::parse("sm_100f")));
}

TEST_CASE("Nvrtc: an unknown target is refused before compiling, with those that are known",
          "[nvrtc]") {
  const FakeNvrtc fake("complete");
  const Nvrtc compiler(fake.path());
  const auto error = compile_error_of([&] { (void)compiler.compile(request_for("sm_120a")); });
  CHECK_THAT(error.what(), ContainsSubstring("sm_90, sm_90a, sm_100, sm_100a, sm_100f"));
  CHECK_THAT(error.what(), ContainsSubstring("NVRTC 13.78 (" + fake.path().string() + ")"));
  CHECK_THAT(error.what(), ContainsSubstring("kernel.cu for sm_120a (op:key=value): "));
  CHECK(error.details().arch == "sm_120a");
  CHECK(error.details().traits == "op:key=value");
  CHECK(error.details().log.empty());  // nothing was compiled
}

TEST_CASE("Nvrtc: a hidden companion library is named with the places that were searched",
          "[nvrtc]") {
  const FakeNvrtc fake("alone");
  const Nvrtc compiler(fake.path());
  const auto error = compile_error_of([&] { (void)compiler.compile(request_for("sm_90a")); });
  CHECK_THAT(error.what(), ContainsSubstring("libnvrtc-builtins.so.13.79 could not be opened"));
  CHECK_THAT(error.what(), ContainsSubstring(fake.path().parent_path().string() + ","));
  CHECK_THAT(error.details().log, ContainsSubstring("failed to open"));
}

TEST_CASE("Nvrtc: the companion library is found beside the library, wherever that is", "[nvrtc]") {
  const FakeNvrtc fake("complete");
  fake.add_builtins();
  // Through a link in another directory as well: the companion is beside the real file.
  const TemporaryDirectory elsewhere;
  const auto link = elsewhere.path() / "libnvrtc.so";
  std::filesystem::create_symlink(fake.path(), link);
  const Nvrtc compiler(link);
  CHECK(compiler.compile(request_for("sm_90a")).code.size() == 4);
}
