// SPDX-License-Identifier: Apache-2.0
#include "src/service/kernel_sources.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>

#include <map>
#include <string>

using quantjit::CompileError;
using quantjit::service::included_paths;
using quantjit::service::KernelSources;
using quantjit::test::ContainsSubstring;

namespace {

std::vector<std::string> paths_of(const KernelSources& sources, const std::string& path) {
  std::vector<std::string> paths;
  for (const auto* file : sources.closure(path)) {
    paths.push_back(file->path);
  }
  return paths;
}

}  // namespace

TEST_CASE("included_paths: comments and literals hide nothing and add nothing", "[service]") {
  const std::string text =
      "#include \"a.h\"\n"
      "// #include \"no.h\"\n"
      "/* #include \"no.h\"\n#include \"no.h\" */ # \t include /* why */ \"b/c.cuh\"\n"
      "const char* s = \"\\\"\\n#include \\\"no.h\\\"\";\n"
      "int x = 1'000'000; char q = '\"';\n"
      "#include \"d.h\"\n"
      "#inc\\\nlude \"e.h\"\n"
      "  #include\"f.h\" // tail\n";
  CHECK(included_paths(text, "k.cuh") ==
        std::vector<std::string>{"a.h", "b/c.cuh", "d.h", "e.h", "f.h"});
}

TEST_CASE("included_paths: forms that hide what is included are refused with file and line",
          "[service]") {
  CHECK_THROWS_WITH(included_paths("\n#include <cuda_fp8.h>\n", "k.cuh"),
                    ContainsSubstring("k.cuh:2") && ContainsSubstring("angle brackets"));
  CHECK_THROWS_WITH(included_paths("#define F \"x.h\"\n\n#include F\n", "k.cuh"),
                    ContainsSubstring("k.cuh:3") && ContainsSubstring("macro"));
  CHECK_THROWS_AS(included_paths("#include_next \"x.h\"", "k.cuh"), CompileError);
  CHECK_THROWS_AS(included_paths("#import \"x.h\"", "k.cuh"), CompileError);
  CHECK_THROWS_AS(included_paths("#embed \"x.h\"", "k.cuh"), CompileError);
  CHECK_THROWS_AS(included_paths("#include \"x.h\nint a;", "k.cuh"), CompileError);
}

TEST_CASE(
    "KernelSources: a closure is the kernel and what it reaches, each once, whatever the cycle",
    "[service]") {
  const KernelSources sources("test", {{"k.cuh", "#include \"b.cuh\"\n#include \"a.cuh\"\n"},
                                       {"a.cuh", "#include \"device/deep.h\"\n"},
                                       {"b.cuh", "#include \"a.cuh\"\n"},
                                       {"device/deep.h", "#include \"b.cuh\"\n"},
                                       {"unrelated.cuh", "#include \"not-there.h\"\n"}});
  CHECK(paths_of(sources, "k.cuh") ==
        std::vector<std::string>{"k.cuh", "a.cuh", "b.cuh", "device/deep.h"});
  CHECK(paths_of(sources, "device/deep.h") ==
        std::vector<std::string>{"device/deep.h", "a.cuh", "b.cuh"});
}

TEST_CASE("KernelSources: a missing file is named with who includes it and where it should be",
          "[service]") {
  const KernelSources sources("/some/dir", {{"k.cuh", "#include \"gone.cuh\"\n"}});
  CHECK_THROWS_WITH(sources.closure("k.cuh"), ContainsSubstring("gone.cuh, included by k.cuh") &&
                                                  ContainsSubstring("/some/dir"));
  CHECK_THROWS_WITH(sources.closure("other.cuh"), ContainsSubstring("other.cuh"));
}

TEST_CASE("KernelSources: every embedded kernel has a readable closure inside the embedded tree",
          "[service]") {
  const auto sources = KernelSources::embedded();
  CHECK(paths_of(*sources, "per_token_group_quant.cuh").size() > 3);
  CHECK(paths_of(*sources, "per_token_quant.cuh").size() > 3);
}

TEST_CASE("KernelSources: a directory that is missing or empty is an InvalidArgument that names it",
          "[service]") {
  CHECK_THROWS_WITH(KernelSources::from_directory("/quantjit-not-there"),
                    ContainsSubstring("/quantjit-not-there"));
  CHECK_THROWS_AS(KernelSources::from_directory("/quantjit-not-there"), quantjit::InvalidArgument);
}
