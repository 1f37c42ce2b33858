// SPDX-License-Identifier: Apache-2.0
// Compiling with a real NVRTC.
#include "src/nvrtc/inspect.hpp"
#include "src/nvrtc/nvrtc.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/real_nvrtc.hpp"
#include "tests/support/temporary_directory.hpp"

#include <quantjit/error.hpp>

#include <atomic>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace quantjit;
using nvrtc::CodeKind;
using nvrtc::CompileRequest;
using nvrtc::Nvrtc;
using quantjit::test::ContainsSubstring;

namespace {

CompileRequest request_for(const std::string& source, const std::string& arch = "sm_90a") {
  CompileRequest request;
  request.source = {"group_quant.cu", source};
  request.arch = Arch::parse(arch);
  request.options = {"--std=c++20"};
  return request;
}

const std::string kScale = R"(
namespace demo {
template <typename T, int kFactor>
__global__ void scale(T* data) { data[threadIdx.x] *= kFactor; }
}
)";

CompileError compile_error_of(const Nvrtc& compiler, const CompileRequest& request) {
  try {
    (void)compiler.compile(request);
  } catch (const CompileError& error) {
    return error;
  }
  throw std::logic_error("the compile was expected to fail and did not");
}

}  // namespace

TEST_CASE("Nvrtc: compiles a template and tells its lowered names in order", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  CHECK_FALSE(compiler.is_loaded());
  auto request = request_for(kScale);
  request.name_expressions = {"demo::scale<float, 3>", "&demo::scale<int, 5>"};
  const auto result = compiler.compile(request);
  CHECK(compiler.is_loaded());
  CHECK(result.lowered_names ==
        std::vector<std::string>{"_ZN4demo5scaleIfLi3EEEvPT_", "_ZN4demo5scaleIiLi5EEEvPT_"});
  CHECK(result.compile_ms > 0);
  CHECK(result.log.empty());
  const auto properties = nvrtc::inspect_cubin(result.code);
  CHECK(properties.entries.size() == 2);
  CHECK(properties.find(result.lowered_names[0]) != nullptr);
  CHECK(properties.find(result.lowered_names[1]) != nullptr);
}

TEST_CASE("Nvrtc: makes PTX for the virtual form of the target, ended by a NUL", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  auto request = request_for(kScale);
  request.name_expressions = {"demo::scale<float, 3>"};
  request.kind = CodeKind::kPtx;
  const auto result = compiler.compile(request);
  REQUIRE_FALSE(result.code.empty());
  CHECK(result.code.back() == std::byte{0});
  const std::string text(reinterpret_cast<const char*>(result.code.data()));
  CHECK(text.size() + 1 == result.code.size());
  CHECK_THAT(text, ContainsSubstring(".target sm_90a"));
  CHECK_THAT(text, ContainsSubstring(result.lowered_names[0]));
}

TEST_CASE("Nvrtc: knows the targets of its version and compiles for each", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  std::set<std::string> known;
  for (const Arch& arch : compiler.supported_archs()) {
    known.insert(arch.to_string());
  }
  std::vector<std::string> expected{"sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_120a"};
  if (compiler.version() >= nvrtc::Version{12, 9}) {
    expected.insert(expected.end(), {"sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_120f"});
  }
  for (const std::string& text : expected) {
    CAPTURE(text);
    CHECK(known.count(text) == 1);
    const auto result = compiler.compile(request_for("__global__ void k() {}", text));
    CHECK(nvrtc::inspect_cubin(result.code).sm == Arch::parse(text).number());
  }
}

TEST_CASE("Nvrtc: refuses a target that it does not know, with those it does", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  for (const char* const arch : {"sm_91a", "sm_91", "sm_990a"}) {
    CAPTURE(arch);
    const auto error = compile_error_of(compiler, request_for("__global__ void k() {}", arch));
    CHECK_THAT(error.what(), ContainsSubstring("sm_90a, sm_100, sm_100a"));
    CHECK(error.details().arch == arch);
    CHECK(error.details().log.empty());
  }
}

TEST_CASE("Nvrtc: a source error carries the whole log with its location", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  auto request = request_for("__global__ void fine() {}\n\n__global__ void k() { missing(1); }\n");
  request.traits = "op:key=value";
  request.options.emplace_back("--define-macro=SUM=1 + 2");
  const auto error = compile_error_of(compiler, request);
  const auto& details = error.details();
  CHECK_THAT(details.log, ContainsSubstring("group_quant.cu(3)"));
  CHECK_THAT(details.log, ContainsSubstring("missing"));
  CHECK_THAT(error.what(), ContainsSubstring(details.log));
  CHECK_THAT(error.what(), ContainsSubstring("NVRTC_ERROR_COMPILATION"));
  CHECK(details.traits == "op:key=value");
  CHECK(details.arch == "sm_90a");
  CHECK(details.options == "--gpu-architecture=sm_90a\n--std=c++20\n--define-macro=SUM=1 + 2");
  CHECK(details.nvrtc_path == compiler.path().string());
  CHECK(details.nvrtc_version == compiler.version().to_string());
}

TEST_CASE("Nvrtc: an error in a header is located in the header", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  auto request = request_for("#include \"device/types.cuh\"\n__global__ void k() {}\n");
  request.headers = {{"device/types.cuh", "\n\n\nstatic_assert(1 == 2, \"one is two\");\n"}};
  const auto error = compile_error_of(compiler, request);
  CHECK_THAT(error.details().log, ContainsSubstring("types.cuh(4)"));
  CHECK_THAT(error.details().log, ContainsSubstring("one is two"));
}

TEST_CASE("Nvrtc: a name expression that is nothing and an option that is none are errors",
          "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  auto request = request_for(kScale);
  request.name_expressions = {"demo::absent<float>"};
  CHECK_THAT(compile_error_of(compiler, request).details().log, ContainsSubstring("absent"));
  request = request_for(kScale);
  request.options = {"--no-such-option"};
  CHECK_THAT(compile_error_of(compiler, request).what(), ContainsSubstring("no-such-option"));
}

TEST_CASE("Nvrtc: includes come from memory first, then from the directories given", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  const test::TemporaryDirectory directory;
  std::ofstream(directory.path() / "both.cuh") << "#error taken from the directory\n";
  std::ofstream(directory.path() / "on_disk.cuh") << "#define ON_DISK 7\n";
  auto request = request_for(
      "#include \"both.cuh\"\n#include \"on_disk.cuh\"\n"
      "static_assert(IN_MEMORY + ON_DISK == 12);\n__global__ void k() {}\n");
  request.headers = {{"both.cuh", "#define IN_MEMORY 5\n"}};
  request.include_directories = {directory.path()};
  CHECK_NOTHROW(compiler.compile(request));
  request.include_directories.clear();
  CHECK_THAT(compile_error_of(compiler, request).details().log, ContainsSubstring("on_disk.cuh"));
}

TEST_CASE("Nvrtc: no CUDA header is reachable unless it is given", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  for (const char* const header : {"cuda_fp8.h", "cuda_bf16.h", "cuda_runtime.h", "cstdint"}) {
    CAPTURE(header);
    const auto error = compile_error_of(
        compiler, request_for("#include <" + std::string(header) + ">\n__global__ void k() {}\n"));
    CHECK_THAT(error.details().log, ContainsSubstring(header));
  }
}

TEST_CASE("Nvrtc: a warning is in the log of a compile that succeeds", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  const auto result = compiler.compile(request_for("__global__ void k() { int unused_value; }\n"));
  CHECK_THAT(result.log, ContainsSubstring("unused_value"));
  CHECK(result.log.find('\0') == std::string::npos);
}

TEST_CASE("Nvrtc: threads compile at once, each its own program", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  constexpr int kThreads = 8;
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&compiler, &right, thread] {
      auto request = request_for(kScale, thread % 2 == 0 ? "sm_90a" : "sm_100a");
      const bool fails = thread == 5;
      request.name_expressions = {fails ? "demo::absent"
                                        : "demo::scale<float, " + std::to_string(thread) + ">"};
      try {
        const auto result = compiler.compile(request);
        const auto properties = nvrtc::inspect_cubin(result.code);
        const std::string expected = "_ZN4demo5scaleIfLi" + std::to_string(thread) + "EEEvPT_";
        right += !fails && properties.sm == request.arch.number() &&
                 result.lowered_names.at(0) == expected && properties.find(expected) != nullptr;
      } catch (const CompileError&) {
        right += fails;
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(right == kThreads);
}

TEST_CASE("Nvrtc: the same request gives the same bytes", "[nvrtc]") {
  const Nvrtc compiler(test::nvrtc_path_of_tests());
  auto request = request_for(kScale);
  request.name_expressions = {"demo::scale<float, 3>"};
  CHECK(compiler.compile(request).code == compiler.compile(request).code);
}
