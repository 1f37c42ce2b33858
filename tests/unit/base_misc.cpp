// SPDX-License-Identifier: Apache-2.0
#include "src/base/dynamic_library.hpp"
#include "src/base/file.hpp"
#include "src/base/log.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>

#include <filesystem>

namespace base = quantjit::base;
using quantjit::test::ContainsSubstring;

TEST_CASE("DynamicLibrary: a missing library says what the loader said", "[base]") {
  base::DynamicLibrary::OpenFailure failure;
  const auto library = base::DynamicLibrary::open("libquantjit-not-there.so.9", &failure);
  CHECK_FALSE(library);
  CHECK_THAT(failure.reason, ContainsSubstring("libquantjit-not-there.so.9"));
  CHECK(library.symbol("anything") == nullptr);
}

TEST_CASE("DynamicLibrary: an opened library gives symbols and its path", "[base]") {
  const auto library = base::DynamicLibrary::open("libm.so.6");
  REQUIRE(library);
  CHECK(library.symbol("cos") != nullptr);
  CHECK(library.symbol("quantjit_no_such_symbol") == nullptr);
  CHECK_THAT(library.path(), ContainsSubstring("libm.so.6"));
}

TEST_CASE("find_loaded_library: only what is mapped is found", "[base]") {
  const auto libc = base::find_loaded_library("libc.so");
  REQUIRE(libc.has_value());
  CHECK(std::filesystem::exists(*libc));
  CHECK_FALSE(base::find_loaded_library("libquantjit-not-there").has_value());
}

TEST_CASE("executable_directory: it holds this program", "[base]") {
  CHECK(std::filesystem::is_directory(base::executable_directory()));
  CHECK(std::filesystem::is_directory(base::own_library_directory()));
}

TEST_CASE("read_file: directories and missing files are nothing", "[base]") {
  CHECK_FALSE(base::read_file("/").has_value());
  CHECK_FALSE(base::read_file("/quantjit-not-there").has_value());
  CHECK(base::read_file("/proc/self/cmdline").value_or("").size() > 1);
}

TEST_CASE("log levels: names parse, others are refused with the choices", "[base]") {
  CHECK(base::parse_log_level("trace") == base::LogLevel::kTrace);
  CHECK(base::parse_log_level("off") == base::LogLevel::kOff);
  CHECK_THROWS_AS(base::parse_log_level("loud"), quantjit::InvalidArgument);
  CHECK_THROWS_WITH(base::parse_log_level("Warn"),
                    ContainsSubstring("trace, debug, info, warn, error or off"));
}

TEST_CASE("InvalidArgument: parameter, value and rule are kept apart and joined in the message",
          "[base]") {
  const quantjit::InvalidArgument error("output_s.strides[1]", "3", "it must be 1");
  CHECK(error.parameter() == "output_s.strides[1]");
  CHECK(error.value() == "3");
  CHECK(error.rule() == "it must be 1");
  CHECK(std::string(error.what()) == "output_s.strides[1] is 3, but it must be 1");
}
