// SPDX-License-Identifier: Apache-2.0
#include "src/remote/make_backend.hpp"
#include "src/remote/url.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>

#include <string>
#include <vector>

namespace quantjit::remote {
namespace {

using test::ContainsSubstring;
using namespace std::chrono_literals;

/// The message of the refusal; empty if it is accepted.
std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_remote(text));
    return {};
  } catch (const InvalidArgument& refused) {
    return refused.what();
  }
}

}  // namespace

TEST_CASE("Remote URL: every part of a Redis tier is read", "[remote]") {
  const TierSpec tier = parse_tier(
      "redis://al%3Aice:p%40ss%2Fw%25rd@Cache-1.example,10.0.0.7:7000,[2001:db8::1]:7001/12"
      "?timeout=2s&connect_timeout=50ms&ttl=30d&prefix=team:a&readonly=1&max_entry=8M&mac=/k%20y");
  CHECK(tier.scheme == Scheme::kRedis);
  CHECK(tier.hosts ==
        std::vector<Host>{{"cache-1.example", 6379}, {"10.0.0.7", 7000}, {"2001:db8::1", 7001}});
  CHECK(tier.servers() == 3);
  CHECK(tier.user == "al:ice");
  CHECK(tier.password == "p@ss/w%rd");
  CHECK(tier.database == 12);
  CHECK(tier.timeout == 2s);
  CHECK(tier.connect_timeout == 50ms);
  CHECK(tier.ttl == 720h);
  CHECK(tier.prefix == "team:a");
  CHECK(tier.access == Access::kReadOnly);
  CHECK(tier.max_entry == 8U << 20);
  CHECK(tier.mac_key_file == "/k y");
  CHECK(tier.label(0) == "redis://cache-1.example:6379");
  CHECK(tier.label(2) == "redis://[2001:db8::1]:7001");
}

TEST_CASE("Remote URL: what is not said has a default", "[remote]") {
  const TierSpec tier = parse_tier("redis://h");
  CHECK(tier.timeout == 1s);
  CHECK(tier.connect_timeout == 250ms);
  CHECK(tier.compile_timeout == 60s);
  CHECK(tier.lease_wait == 30s);
  CHECK(parse_tier("rediss://h?lease_wait=4m").lease_wait == 4min);
  CHECK(tier.ttl == 0s);
  CHECK(tier.prefix == "quantjit");
  CHECK(tier.access == Access::kReadWrite);
  CHECK(tier.max_entry == 32U << 20);
  CHECK(tier.database == 0);
  CHECK(tier.layout == Layout::kPlain);

  struct Row {
    std::string url;
    Scheme scheme;
    std::uint16_t port;
  };

  for (const Row& row : std::vector<Row>{{"rediss://h/", Scheme::kRediss, 6379},
                                         {"http://h", Scheme::kHttp, 80},
                                         {"https://h/", Scheme::kHttps, 443},
                                         {"qj+http://h", Scheme::kService, 9871},
                                         {"qj+https://h", Scheme::kServiceTls, 443}}) {
    INFO(row.url);
    const TierSpec other = parse_tier(row.url);
    CHECK(other.scheme == row.scheme);
    CHECK(other.hosts == std::vector<Host>{{"h", row.port}});
    CHECK(other.path.empty());
  }
  CHECK(parse_tier("qj+http://h?readonly=0").access == Access::kReadOnly);
}

TEST_CASE("Remote URL: HTTP tiers and directories have paths", "[remote]") {
  const TierSpec http = parse_tier(
      "https://key:secret@s3.example:9000/bucket/a%20b/?sigv4=eu-west-1&ca=/ca.pem"
      "&layout=bazel&proxy=http://u:p%40p.example:3128");
  CHECK(http.path == "/bucket/a%20b");
  CHECK(http.sigv4_region == "eu-west-1");
  CHECK(http.ca_file == "/ca.pem");
  CHECK(http.layout == Layout::kBazel);
  CHECK(http.proxy == "http://u:p@p.example:3128");
  const TierSpec token = parse_tier("qj+https://h/base?token_file=/t&compile_timeout=5m");
  CHECK(token.token_file == "/t");
  CHECK(token.compile_timeout == 5min);
  const TierSpec file = parse_tier("file:///srv/my%20kernels//?timeout=10s");
  CHECK(file.path == "/srv/my kernels");
  CHECK(file.hosts.empty());
  CHECK(file.servers() == 1);
  CHECK(file.label(0) == "file:///srv/my kernels");
}

TEST_CASE("Remote URL: tiers are separated by blanks, in order", "[remote]") {
  CHECK(parse_remote("").empty());
  CHECK(parse_remote(" \t\n").empty());
  const std::vector<TierSpec> tiers = parse_remote("  redis://a\tfile:///b\n http://c  ");
  REQUIRE(tiers.size() == 3);
  CHECK(tiers[0].label(0) == "redis://a:6379");
  CHECK(tiers[1].label(0) == "file:///b");
  CHECK(tiers[2].label(0) == "http://c:80");
  std::string many;
  for (int i = 0; i < 16; ++i) {
    many += "file:///a ";
  }
  CHECK(parse_remote(many).size() == 16);
  CHECK_THAT(refusal(many + "file:///b"), ContainsSubstring("at most 16"));
}

TEST_CASE("Remote URL: a refusal says what is allowed", "[remote]") {
  struct Row {
    std::string url;
    std::string says;
  };

  const std::vector<Row> rows{
      {"ftp://h", "qj+https://"},
      {"redis:/h", "scheme"},
      {"redis://", "host"},
      {"redis://a,", "host"},
      {"redis://a,a", "named once"},
      {"redis://a:0", "1 to 65535"},
      {"redis://a:65536", "65535"},
      {"redis://a:x", "port"},
      {"redis://[::1", "host"},
      {"redis://[abc]", "host"},
      {"redis://[::1]x", "host"},
      {"redis://a b", "scheme"},
      {"http://a%3Ab:p@h", "colon"},
      {"redis://a/x", "database"},
      {"redis://a/99999", "database"},
      {"redis://u@a", "password"},
      {"redis://:p@a?password_file=/f", "password_file"},
      {"redis://a?timeout=5", "500ms"},
      {"redis://a?timeout=0s", "500ms"},
      {"redis://a?timeout=2h", "at most 3600s"},
      {"redis://a?timeout=99999999999s", "500ms"},
      {"redis://a?timeout=1s&timeout=1s", "once"},
      {"redis://a?ttl=1500ms", "whole seconds"},
      {"redis://a?readonly=yes", "0 or 1"},
      {"redis://a?max_entry=0", "size"},
      {"redis://a?max_entry=1G", "288M"},
      {"redis://a?prefix=", "1 to 64"},
      {"redis://a?prefix={x}", "1 to 64"},
      {"redis://a?colour=red", "option colour"},
      {"redis://a?colour=red",
       "timeout, connect_timeout, lease_wait, readonly, max_entry, mac, ttl, prefix"},
      {"redis://a?layout=plain", "redis tiers have"},
      {"redis://a?ca=/f", "option ca"},
      {"redis://a?", "option=value"},
      {"redis://a?timeout", "option=value"},
      {"http://a?compile_timeout=1s", "option compile_timeout"},
      {"http://a?lease_wait=1s", "option lease_wait"},
      {"http://a?layout=maven", "plain or bazel"},
      {"http://a/../b", ". or .."},
      {"http://a/x%zz", "two hexadecimal digits"},
      {"http://a/x%0a", "control character"},
      {"http://a/x#y", "percent-encoded"},
      {"http://u:p@a?token_file=/t", "token_file"},
      {"http://a?token_file=t", "absolute"},
      {"http://a?sigv4=r", "access key"},
      {"http://u:p@a?sigv4=a/b", "region"},
      {"http://a?proxy=ftp://x", "socks5"},
      {"file://host/x", "file:///srv"},
      {"file:///", "directory"},
      {"file://", "directory"},
      {"file:///x?connect_timeout=1s", "option connect_timeout"},
      {"redis://\x01", "printable"},
      {"redis://h\xc3\xa9", "printable"},
  };
  for (const Row& row : rows) {
    INFO(row.url);
    CHECK_THAT(refusal(row.url), ContainsSubstring(row.says));
  }
  CHECK_THAT(refusal("redis://" + std::string(20000, 'a')), ContainsSubstring("too long"));
  CHECK_THAT(refusal("redis://" + std::string(300, 'a')), ContainsSubstring("host"));
}

TEST_CASE("Remote URL: no refusal and no label repeats a secret", "[remote]") {
  // The secret wherever a slip of the pen may put it.
  const std::string secret = "h4nter2";
  for (const std::string url : {"redis://user:h4nter2@h:x",
                                "redis://user:h4nter2",
                                "redis://h4nter2:x@h?y=1",
                                "redis://user:a/h4nter2@h",
                                "redis://user:a?h4nter2@h",
                                "redis://user:a?b=h4nter2@h",
                                "redis://user:a?h4nter2=b@h",
                                "redis://user:a?timeout=h4nter2@h",
                                "redis://:h4nter2@h?password_file=/f",
                                "redis://user:%zzh4nter2@h",
                                "redis://user:h4nter2%01@h",
                                "redis://h?password=h4nter2",
                                "redis://h?h4nter2",
                                "redis://h?timeout=h4nter2",
                                "redis://h?ttl=h4nter2",
                                "redis://h?max_entry=h4nter2",
                                "redis://h?readonly=h4nter2",
                                "redis://h/h4nter2",
                                "redis://h:h4nter2",
                                "http://u:h4nter2@h?token_file=/t",
                                "http://h?token_file=h4nter2",
                                "http://h?proxy=h4nter2",
                                "http://h?proxy=ftp://u:h4nter2@p",
                                "http://h?layout=h4nter2",
                                "http://u@h?sigv4=h4nter2/x",
                                "h4nter2://h",
                                "user:h4nter2@h",
                                "file://u:h4nter2@/x",
                                "redis://h?mac=h4nter2",
                                "redis://u:h4nter2@h,h",
                                "redis://u:h4nter2@[::1"}) {
    INFO(url);
    const std::string message = refusal(url);
    CHECK_FALSE(message.empty());
    CHECK(message.find(secret) == std::string::npos);
    for (const char character : message) {
      CHECK(static_cast<unsigned char>(character) >= 0x20);
    }
  }
  const TierSpec tier = parse_tier("redis://user:h4nter2@h");
  CHECK(tier.password == secret);
  CHECK(tier.label(0) == "redis://h:6379");
}

TEST_CASE("Remote URL: a backend that this build lacks is named", "[remote]") {
  for (const std::string url : {"redis://h", "http://h", "qj+http://h", "file:///x"}) {
    INFO(url);
    const TierSpec tier = parse_tier(url);
    const bool there = tier.scheme == Scheme::kFile ||
                       !(tier.scheme == Scheme::kRedis ? redis_version() : http_version()).empty();
    if (there) {
      CHECK(make_backend(tier, 0)->label() == tier.label(0));
    } else {
      CHECK_THROWS_AS(make_backend(tier, 0), NotImplemented);
    }
  }
  if (redis_tls_version().empty()) {
    CHECK_THROWS_AS(make_backend(parse_tier("rediss://h"), 0), NotImplemented);
  } else {
    CHECK_THROWS_AS(make_backend(parse_tier("rediss://h?ca=/nonexistent"), 0), InvalidArgument);
  }
}

}  // namespace quantjit::remote
