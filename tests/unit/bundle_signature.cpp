// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/signature.hpp"
#include "tests/support/bundle_fixture.hpp"
#include "tests/support/cache_fixture.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>

#include <algorithm>

namespace quantjit::bundle {

using cache::TemporaryDirectory;
using test::ContainsSubstring;

namespace {

// The key of the first test vector of RFC 8032, section 7.1.
constexpr const char* kPrivate = "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g";
constexpr const char* kPublic = "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
constexpr const char* kOtherPublic = "MCowBQYDK2VwAyEA5UlVy28jm84GP4RYoca+ejskKwwRiqFTkqG4r0l6LxE=";
constexpr const char* kX25519 = "MC4CAQAwBQYDK2VuBCIEIFD4akF+kQDDj1P9mXhQbSb2QtMZGWllVpNiLfvZ/6VY";
constexpr const char* kEncrypted =
    "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiWctvh2jcfeQICCAAw\n"
    "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEIgLkMp26lc4JkQxBt7/e1UEQK4v\n"
    "IXrBHyPhEPqhfydTK69YqyHagJ46yQAr35Y2XnpXRGVG4Ma75unnhBKS0jsTJFBX\n"
    "lyeLb5qkTuZA8dCCEAE=";
constexpr const char* kPublicHex =
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

/// A directory with key files.
class Keys {
 public:
  Keys() {
    write("private", "PRIVATE KEY", kPrivate);
    write("public", "PUBLIC KEY", kPublic);
    write("other", "PUBLIC KEY", kOtherPublic);
    write("x25519", "PRIVATE KEY", kX25519);
    write("encrypted", "ENCRYPTED PRIVATE KEY", kEncrypted);
    cache::write_file(directory_ / "text", "no key");
  }

  [[nodiscard]] std::string operator/(const std::string& name) const { return directory_ / name; }

 private:
  void write(const std::string& name, const std::string& kind, const std::string& text) {
    const std::string dashes = "-----";
    cache::write_file(directory_ / name, dashes + "BEGIN " + kind + dashes + "\n" + text + "\n" +
                                             dashes + "END " + kind + dashes + "\n");
  }

  TemporaryDirectory directory_;
};

/// The message of a check, or nothing if it finds nothing wrong.
std::string refusal(const std::string& bytes, const std::optional<PublicKey>& wanted) {
  try {
    static_cast<void>(Reader(from_memory("b", bytes)).check_signature(wanted));
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

/// The bundle with another signature under a right header digest.
std::string with_signature(const std::string& bytes, const std::optional<Signature>& signature) {
  Header header = Reader(from_memory("b", bytes)).header();
  header.signature = signature;
  return encode(header) + bytes.substr(kHeaderBytes);
}

}  // namespace

TEST_CASE("Signature: it is the one of the standard's first vector", "[bundle]") {
  const Keys keys;
  const Signature signature = sign(keys / "private", "");
  CHECK(base::to_hex(signature.key) == kPublicHex);
  CHECK(base::to_hex(signature.bytes) ==
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
  CHECK(verifies(signature, ""));
  CHECK_FALSE(verifies(signature, "x"));
  CHECK(base::to_hex(read_public_key(keys / "public")) == kPublicHex);
}

TEST_CASE("Signature: a signed bundle is the same each time and trusted under its key alone",
          "[bundle]") {
  const Keys keys;
  const std::string bytes = write_bundle(keys / "a.qjb", kernel_entries(2), keys / "private");
  CHECK(write_bundle(keys / "b.qjb", kernel_entries(2), keys / "private") == bytes);
  CHECK(problem_of(bytes).empty());
  const Reader reader(from_memory("b", bytes));
  CHECK(reader.check_signature(std::nullopt) == SignatureStatus::kConsistent);
  CHECK(reader.check_signature(read_public_key(keys / "public")) == SignatureStatus::kTrusted);
  CHECK_THAT(refusal(bytes, read_public_key(keys / "other")),
             ContainsSubstring("it is signed by another key, " + std::string(kPublicHex)));
  const std::string unsigned_bytes = write_bundle(keys / "c.qjb", kernel_entries(2));
  CHECK_THAT(refusal(unsigned_bytes, read_public_key(keys / "public")),
             ContainsSubstring("it is not signed"));
}

TEST_CASE("Signature: a forged or moved one is found, with and without the key", "[bundle]") {
  const Keys keys;
  const std::string bytes = write_bundle(keys / "a.qjb", kernel_entries(2), keys / "private");
  const std::string other = write_bundle(keys / "b.qjb", kernel_entries(1));
  const Signature signature = *Reader(from_memory("b", bytes)).header().signature;
  const PublicKey key = read_public_key(keys / "public");
  const std::string expected = "its signature is not the one of its content";
  // On another bundle.
  CHECK_THAT(refusal(with_signature(other, signature), key), ContainsSubstring(expected));
  CHECK_THAT(refusal(with_signature(other, signature), std::nullopt), ContainsSubstring(expected));
  for (std::size_t i = 0; i < signature.bytes.size(); i += 9) {
    Signature changed = signature;
    changed.bytes[i] = static_cast<std::uint8_t>(changed.bytes[i] ^ 4);
    CHECK_THAT(refusal(with_signature(bytes, changed), key), ContainsSubstring(expected));
  }
  Signature claimed = signature;
  claimed.key = read_public_key(keys / "other");
  CHECK_THAT(refusal(with_signature(bytes, claimed), claimed.key), ContainsSubstring(expected));
  CHECK_THAT(refusal(with_signature(bytes, claimed), key), ContainsSubstring("another key"));
  CHECK_THAT(refusal(with_signature(bytes, std::nullopt), key), ContainsSubstring("not signed"));
  CHECK(refusal(with_signature(bytes, std::nullopt), std::nullopt).empty());
}

TEST_CASE("Signature: a changed bit in any place of a signed bundle is found", "[bundle]") {
  const Keys keys;
  const std::string bytes = write_bundle(keys / "a.qjb", kernel_entries(1), keys / "private");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 16);
    INFO("byte " << i);
    REQUIRE_FALSE(problem_of(changed).empty());
  }
}

TEST_CASE("Signature: files that hold no such key are refused, and no passphrase is asked for",
          "[bundle]") {
  const Keys keys;
  for (const char* name : {"public", "x25519", "encrypted", "text", "none"}) {
    INFO(name);
    CHECK_THROWS_AS(sign(keys / name, "message"), InvalidArgument);
  }
  for (const char* name : {"private", "x25519", "encrypted", "text", "none"}) {
    INFO(name);
    CHECK_THROWS_AS(read_public_key(keys / name), InvalidArgument);
  }
  const std::string path = keys / "a.qjb";
  CHECK_THROWS_WITH(write_bundle(path, kernel_entries(1), keys / "public"),
                    ContainsSubstring("private Ed25519 key"));
  const std::vector<std::string> files = cache::files_below(path.substr(0, path.rfind('/')));
  CHECK(files.size() == 6);  // the keys alone
}

}  // namespace quantjit::bundle
