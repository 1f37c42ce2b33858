// SPDX-License-Identifier: Apache-2.0
#include "src/base/sha256.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace base = quantjit::base;

// Vectors: FIPS 180-4 examples and RFC 4231.

TEST_CASE("sha256: the published vectors hold", "[base]") {
  CHECK(base::to_hex(base::sha256("")) ==
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(base::to_hex(base::sha256("abc")) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(base::to_hex(base::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(base::to_hex(base::sha256(std::string(1'000'000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256: how the input is cut does not matter", "[base]") {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += static_cast<char>(i * 7);
  }
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string_view part = std::string_view(text).substr(0, length);
    const auto whole = base::sha256(part);
    for (const std::size_t step : {1U, 3U, 63U, 64U, 65U}) {
      base::Sha256 hash;
      for (std::size_t at = 0; at < part.size(); at += step) {
        hash.update(part.substr(at, step));
      }
      REQUIRE(hash.finish() == whole);
    }
  }
}

TEST_CASE("sha256: the instructions of the processor give what plain C++ gives", "[base]") {
  const base::Sha256Compress fast = base::sha256_compress_x86();
  if (fast == nullptr) {
    WARN("this processor has no SHA extensions: there is one form only");
    return;
  }
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(8192);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
  const std::span<const std::byte> all(bytes);

  SECTION("one block on any state") {
    for (int i = 0; i < 2000; ++i) {
      base::Sha256State expected;
      std::generate(expected.begin(), expected.end(),
                    [&] { return static_cast<std::uint32_t>(random()); });
      base::Sha256State state = expected;
      const std::byte* const block =
          bytes.data() + random() % (bytes.size() - 64);  // any alignment
      base::sha256_compress_portable(expected, block, 1);
      fast(state, block, 1);
      REQUIRE(state == expected);
    }
  }
  SECTION("every length, cut anywhere") {
    for (std::size_t length = 0; length <= 1200; ++length) {
      CAPTURE(length);
      base::Sha256 plain(&base::sha256_compress_portable);
      base::Sha256 instructions(fast);
      const std::size_t cut = random() % (length + 1);
      const std::size_t from = random() % (bytes.size() - length);
      const auto part = all.subspan(from, length);
      plain.update(part);
      instructions.update(part.first(cut));
      instructions.update(part.subspan(cut));
      const base::Sha256Digest expected = plain.finish();
      REQUIRE(instructions.finish() == expected);
      REQUIRE(base::sha256(part) == expected);
    }
  }
  SECTION("many blocks at once") {
    for (std::size_t blocks = 0; blocks <= 128; ++blocks) {
      base::Sha256State expected{};
      base::Sha256State state{};
      base::sha256_compress_portable(expected, bytes.data(), blocks);
      fast(state, bytes.data(), blocks);
      REQUIRE(state == expected);
    }
  }
}

TEST_CASE("hmac_sha256: the published vectors hold", "[base]") {
  const auto mac = [](std::string_view key, std::string_view text) {
    return base::to_hex(base::hmac_sha256(key, std::as_bytes(std::span(text.data(), text.size()))));
  };
  CHECK(mac(std::string(20, '\x0b'), "Hi There") ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(mac("Jefe", "what do ya want for nothing?") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(mac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}
