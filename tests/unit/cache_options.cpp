// SPDX-License-Identifier: Apache-2.0
#include "cache/options.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>

#include <filesystem>

namespace quantjit::cache {

TEST_CASE("Options: the default root follows the XDG rules", "[cache]") {
  CHECK(default_root("/xdg", "/home/user") == "/xdg/quantjit");
  CHECK(default_root("/xdg/", "/home/user") == "/xdg/quantjit");
  CHECK(default_root(std::nullopt, "/home/user") == "/home/user/.cache/quantjit");
  CHECK(default_root("", "/home/user") == "/home/user/.cache/quantjit");
  CHECK(default_root("relative", "/home/user") == "/home/user/.cache/quantjit");
  CHECK(default_root(std::nullopt, "/") == "/.cache/quantjit");
  // Without HOME the user database answers, if it knows this user at all.
  const auto fallback = default_root(std::nullopt, std::nullopt);
  CHECK(fallback == default_root("", ""));
  if (fallback) {
    CHECK(fallback->ends_with("/.cache/quantjit"));
  }
}

TEST_CASE("Options: lists of roots are split at colons", "[cache]") {
  CHECK(parse_roots("").empty());
  CHECK(parse_roots("::").empty());
  const std::vector<RootSpec> two{{"/a", {}}, {"/b c", {}}};
  CHECK(parse_roots("/a:/b c") == two);
  CHECK(parse_roots(":/a::/b c:") == two);
  const std::string here = std::filesystem::current_path().string();
  CHECK(parse_roots("x/y").at(0).path == here + "/x/y");
}

TEST_CASE("Options: shared roots name their key file and replace private ones", "[cache]") {
  const std::vector<RootSpec> shared = parse_shared_roots("/s=/key:/with=equals=/k2");
  REQUIRE(shared.size() == 2);
  CHECK(shared[0] == RootSpec{"/s", "/key"});
  CHECK(shared[1] == RootSpec{"/with=equals", "/k2"});
  for (const char* wrong : {"/s", "=/key", "/s=", "="}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_shared_roots(wrong), InvalidArgument);
  }
  const std::vector<RootSpec> merged = merge_roots(parse_roots("/a:/s:/b"), shared);
  REQUIRE(merged.size() == 4);
  CHECK(merged[1] == RootSpec{"/s", "/key"});
  CHECK(merged[3] == RootSpec{"/with=equals", "/k2"});
}

TEST_CASE("Options: sizes take suffixes and nothing else", "[cache]") {
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("64K") == 65536);
  CHECK(parse_size("64k") == 65536);
  CHECK(parse_size("512M") == std::uint64_t{512} << 20);
  CHECK(parse_size("2G") == std::uint64_t{2} << 30);
  CHECK(parse_size("1T") == std::uint64_t{1} << 40);
  for (const char* wrong : {"", "G", "-1", "1.5G", "2GB", "2 G", " 2", "0x10",
                            "99999999999999999999", "18446744073709551615K"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_size(wrong), InvalidArgument);
  }
}

}  // namespace quantjit::cache
