// SPDX-License-Identifier: Apache-2.0
// Ed25519, where OpenSSL was there at build time.
#pragma once

#include "src/bundle/format.hpp"

#include <string>
#include <string_view>

namespace quantjit::bundle {

/// Version of the OpenSSL that is used; empty if this build has none.
[[nodiscard]] std::string signature_version();
/// Signs `message` with the private key in a PEM file.
/// Throws: NotImplemented without OpenSSL; InvalidArgument for a file that holds no such key.
[[nodiscard]] Signature sign(const std::string& key_file, std::string_view message);
/// The public key in a PEM file. Throws: as sign().
[[nodiscard]] PublicKey read_public_key(const std::string& key_file);
/// Whether a signature is the one of its key over `message`. Throws: NotImplemented without
/// OpenSSL.
[[nodiscard]] bool verifies(const Signature& signature, std::string_view message);

}  // namespace quantjit::bundle
