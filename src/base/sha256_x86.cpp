// SPDX-License-Identifier: Apache-2.0
// The compression function of SHA-256 with the SHA extensions of x86 (sha256rnds2, sha256msg1,
// sha256msg2 as the architecture manuals define them).
#include "src/base/sha256_compress.hpp"

#ifdef __x86_64__

#include <cpuid.h>
#include <immintrin.h>

// The file is compiled for any x86-64; only these functions may use more, and only after a look at
// the processor.
#define QUANTJIT_SHA_TARGET __attribute__((target("sha,sse4.1")))
#define QUANTJIT_SHA_INLINE QUANTJIT_SHA_TARGET __attribute__((always_inline)) inline

namespace quantjit::base {
namespace {

__m128i load(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}

/// Half of the state each, in the order of the instructions: the first one named is highest.
struct Halves {
  __m128i abef;
  __m128i cdgh;
};

/// Four rounds with four words of the message schedule, the earliest lowest.
QUANTJIT_SHA_INLINE void four_rounds(Halves& state, __m128i words, const std::uint32_t* constants) {
  const __m128i sums = _mm_add_epi32(words, load(constants));
  // Two rounds make the new (a, b, e, f); the old one is the new (c, d, g, h). Twice that, and the
  // names are right again.
  state.cdgh = _mm_sha256rnds2_epu32(state.cdgh, state.abef, sums);
  state.abef = _mm_sha256rnds2_epu32(state.abef, state.cdgh, _mm_shuffle_epi32(sums, 0x0E));
}

/// The four words of the schedule that follow these sixteen.
QUANTJIT_SHA_INLINE __m128i next_words(__m128i w0, __m128i w4, __m128i w8, __m128i w12) {
  const __m128i nine_to_twelve = _mm_alignr_epi8(w12, w8, 4);
  return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w4), nine_to_twelve), w12);
}

QUANTJIT_SHA_TARGET void compress(Sha256State& state, const std::byte* blocks, std::size_t count) {
  const __m128i swap_bytes = _mm_set_epi64x(0x0C0D0E0F08090A0B, 0x0405060700010203);
  const std::uint32_t* const constants = kSha256RoundConstants.data();
  const __m128i dcba = _mm_shuffle_epi32(load(state.data()), 0x1B);
  const __m128i hgfe = _mm_shuffle_epi32(load(state.data() + 4), 0x1B);
  Halves now{_mm_unpackhi_epi64(hgfe, dcba), _mm_unpacklo_epi64(hgfe, dcba)};
  for (; count > 0; --count, blocks += 64) {
    const Halves before = now;
    __m128i w0 = _mm_shuffle_epi8(load(blocks), swap_bytes);
    __m128i w4 = _mm_shuffle_epi8(load(blocks + 16), swap_bytes);
    __m128i w8 = _mm_shuffle_epi8(load(blocks + 32), swap_bytes);
    __m128i w12 = _mm_shuffle_epi8(load(blocks + 48), swap_bytes);
    for (std::size_t round = 0;; round += 16) {
      four_rounds(now, w0, constants + round);
      four_rounds(now, w4, constants + round + 4);
      four_rounds(now, w8, constants + round + 8);
      four_rounds(now, w12, constants + round + 12);
      if (round == 48) {
        break;
      }
      w0 = next_words(w0, w4, w8, w12);
      w4 = next_words(w4, w8, w12, w0);
      w8 = next_words(w8, w12, w0, w4);
      w12 = next_words(w12, w0, w4, w8);
    }
    now.abef = _mm_add_epi32(now.abef, before.abef);
    now.cdgh = _mm_add_epi32(now.cdgh, before.cdgh);
  }
  const __m128i abcd = _mm_shuffle_epi32(_mm_unpackhi_epi64(now.cdgh, now.abef), 0x1B);
  const __m128i efgh = _mm_shuffle_epi32(_mm_unpacklo_epi64(now.cdgh, now.abef), 0x1B);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), abcd);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), efgh);
}

bool processor_can() {
  constexpr unsigned kShaBit = 1U << 29;  // leaf 7, EBX
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_SSE4_1) == 0) {
    return false;
  }
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & kShaBit) != 0;
}

}  // namespace

Sha256Compress sha256_compress_x86() {
  return processor_can() ? &compress : nullptr;
}

}  // namespace quantjit::base

#else

namespace quantjit::base {

Sha256Compress sha256_compress_x86() {
  return nullptr;
}

}  // namespace quantjit::base

#endif
