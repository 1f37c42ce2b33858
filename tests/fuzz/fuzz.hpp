// SPDX-License-Identifier: Apache-2.0
// What reads bytes that others wrote, fed with arbitrary ones. Each function takes one input and
// throws BrokenPromise, or whatever else escaped, if a reader does not keep what it promises.
// tests/fuzz builds each with libFuzzer; the unit tests feed the kept inputs of tests/fuzz/corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace quantjit::fuzz {

struct BrokenPromise : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool condition, const char* promise) {
  if (!condition) {
    throw BrokenPromise(promise);
  }
}

/// A refusal's message: one line of printable characters, whatever was refused.
inline void require_message(std::string_view message) {
  require(!message.empty(), "a refusal says why");
  for (const char character : message) {
    require(static_cast<unsigned char>(character) >= 0x20, "a message is one line");
  }
}

/// Entries, leases and counter files of the store.
void fuzz_entry(const std::uint8_t* data, std::size_t size);
/// Descriptor texts, targets and math modes.
void fuzz_traits(const std::uint8_t* data, std::size_t size);
/// .npy files.
void fuzz_npy(const std::uint8_t* data, std::size_t size);
/// .safetensors files.
void fuzz_safetensors(const std::uint8_t* data, std::size_t size);
/// Manifests and traces.
void fuzz_manifest(const std::uint8_t* data, std::size_t size);
/// Bundles.
void fuzz_bundle(const std::uint8_t* data, std::size_t size);
/// Lists of remote tiers.
void fuzz_remote_url(const std::uint8_t* data, std::size_t size);

}  // namespace quantjit::fuzz

/// The entry point that libFuzzer calls; nothing in other programs.
#if defined(QUANTJIT_FUZZER)
#define QUANTJIT_FUZZ_MAIN(function)                                                  \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    quantjit::fuzz::function(data, size);                                             \
    return 0;                                                                         \
  }
#else
#define QUANTJIT_FUZZ_MAIN(function)
#endif
