// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.hpp"
#include "src/bundle/signature.hpp"

#include <quantjit/error.hpp>

#include <memory>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <optional>

namespace quantjit::bundle {
namespace {

template <auto Release>
struct Releaser {
  template <typename T>
  void operator()(T* object) const {
    Release(object);
  }
};

using Key = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Releaser<BIO_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Releaser<EVP_MD_CTX_free>>;

/// Stands for the question after a passphrase, which a library must not ask on its terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

const unsigned char* data_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// The Ed25519 key that `read` finds in a file.
template <typename Read>
Key read_key(const std::string& path, const char* rule, Read read) {
  const std::optional<std::string> text = base::read_file(path);
  if (!text) {
    throw InvalidArgument("key file", path, "it cannot be read");
  }
  const Bio bio(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  Key key(bio ? read(bio.get()) : nullptr);
  ERR_clear_error();
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_ED25519) {
    throw InvalidArgument("key file", path, rule);
  }
  return key;
}

[[noreturn]] void fail(const std::string& doing) {
  ERR_clear_error();
  throw Error("OpenSSL failed at " + doing + ", which it should not; is its installation whole?");
}

PublicKey public_part(EVP_PKEY* key) {
  PublicKey raw{};
  std::size_t size = raw.size();
  if (EVP_PKEY_get_raw_public_key(key, raw.data(), &size) != 1 || size != raw.size()) {
    fail("taking out a public key");
  }
  return raw;
}

}  // namespace

std::string signature_version() {
  return OpenSSL_version(OPENSSL_VERSION_STRING);
}

Signature sign(const std::string& key_file, std::string_view message) {
  const Key key = read_key(
      key_file, "it must hold a private Ed25519 key in PEM form, not encrypted",
      [](BIO* bio) { return PEM_read_bio_PrivateKey(bio, nullptr, no_passphrase, nullptr); });
  Signature signature{public_part(key.get()), {}};
  const DigestContext context(EVP_MD_CTX_new());
  std::size_t size = signature.bytes.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.bytes.data(), &size, data_of(message),
                     message.size()) != 1 ||
      size != signature.bytes.size()) {
    fail("signing");
  }
  return signature;
}

PublicKey read_public_key(const std::string& key_file) {
  const Key key = read_key(key_file, "it must hold a public Ed25519 key in PEM form", [](BIO* bio) {
    return PEM_read_bio_PUBKEY(bio, nullptr, no_passphrase, nullptr);
  });
  return public_part(key.get());
}

bool verifies(const Signature& signature, std::string_view message) {
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, signature.key.data(),
                                            signature.key.size()));
  const DigestContext context(EVP_MD_CTX_new());
  const bool good =
      key && context &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestVerify(context.get(), signature.bytes.data(), signature.bytes.size(),
                       data_of(message), message.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace quantjit::bundle
