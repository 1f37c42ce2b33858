// SPDX-License-Identifier: Apache-2.0
#include "src/base/sha256.hpp"
#include "tests/support/catch.hpp"

#include <string>

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
