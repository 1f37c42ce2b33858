// SPDX-License-Identifier: Apache-2.0
// Reading PTX, and refusing what is no code. Real cubins are read by the tests that compile.
#include "src/nvrtc/inspect.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/elf_image.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <string>

using namespace quantjit;
using nvrtc::inspect_code;
using nvrtc::inspect_cubin;
using nvrtc::inspect_ptx;

namespace {

const std::string kPtx = R"(
// griddepcontrol.wait in a comment of .target sm_75
.version 8.8
.target sm_100a, debug
.address_size 64
.func helper() { ret; }
.visible .entry waits(.param .u64 p)
.maxntid 128
{
  .reg .b32 %r<3>;
  {  // an inner scope
    griddepcontrol.wait;
  }
  ret;
}
/* .entry commented_out() { griddepcontrol.wait; } */
.entry
  plain(.param .u64 p){ griddepcontrol.launch_dependents; ret; }
.visible .entry bare
{ ret; }
)";

}  // namespace

TEST_CASE("inspect_ptx: finds target, entry points and the waits in their own bodies", "[nvrtc]") {
  const auto properties = inspect_ptx(kPtx);
  CHECK(properties.sm == 100);
  REQUIRE(properties.entries.size() == 3);
  REQUIRE(properties.find("waits") != nullptr);
  CHECK(properties.find("waits")->dependency_wait);
  REQUIRE(properties.find("plain") != nullptr);
  CHECK_FALSE(properties.find("plain")->dependency_wait);
  REQUIRE(properties.find("bare") != nullptr);
  CHECK_FALSE(properties.find("bare")->dependency_wait);
  CHECK(properties.find("helper") == nullptr);
}

TEST_CASE("inspect_ptx: a final NUL is no part of the text", "[nvrtc]") {
  std::string text = kPtx;
  text += '\0';
  text += ".entry behind() { ret; }";
  CHECK(inspect_ptx(text).entries.size() == 3);
}

TEST_CASE("inspect_ptx: text without a target is no PTX", "[nvrtc]") {
  CHECK_THROWS_AS(inspect_ptx(""), InvalidArgument);
  CHECK_THROWS_AS(inspect_ptx("// .target sm_90\n.entry k() { ret; }"), InvalidArgument);
  CHECK_THROWS_AS(inspect_ptx(".target compute"), InvalidArgument);
}

TEST_CASE("inspect_ptx: text that is cut off anywhere is read as far as it goes", "[nvrtc]") {
  std::size_t refused = 0;
  std::size_t most_entries = 0;
  for (std::size_t size = 0; size < kPtx.size(); ++size) {
    try {
      most_entries = std::max(most_entries, inspect_ptx(kPtx.substr(0, size)).entries.size());
    } catch (const InvalidArgument&) {
      ++refused;  // the target line was cut away
    }
  }
  CHECK(most_entries == 3);
  CHECK(refused > 0);
  CHECK(refused < kPtx.size() / 2);
}

TEST_CASE("inspect_cubin: other files are refused", "[nvrtc]") {
  CHECK_THROWS_AS(inspect_cubin({}), InvalidArgument);
  const auto host_elf = test::ElfImage().bytes();  // an ELF file for no machine
  CHECK_THROWS_AS(inspect_cubin(host_elf), InvalidArgument);
  CHECK_THROWS_AS(inspect_code(host_elf), InvalidArgument);
}

TEST_CASE("inspect_code: tells PTX by its text", "[nvrtc]") {
  CHECK(inspect_code(std::as_bytes(std::span(kPtx.data(), kPtx.size()))).sm == 100);
}
