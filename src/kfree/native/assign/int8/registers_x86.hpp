// The register operations of the prefilter on x86-64: 64 bytes with AVX-512, else 32. For kernel_x86.cpp alone: what is
// compiled here depends on the instruction set.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace kfree {
namespace {

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define KFREE_VNNI
#endif

#if defined(__AVX512BW__)
using Register = __m512i;
using Mask = uint32_t;
inline Register load(const void* p) { return _mm512_loadu_si512(p); }
inline void store(void* p, Register x) { _mm512_storeu_si512(p, x); }
inline Register spread32(int32_t x) { return _mm512_set1_epi32(x); }
inline Register spread16(int16_t x) { return _mm512_set1_epi16(x); }
inline Register add32(Register a, Register b) { return _mm512_add_epi32(a, b); }
inline Register min16(Register a, Register b) { return _mm512_min_epi16(a, b); }
inline Register max16(Register a, Register b) { return _mm512_max_epi16(a, b); }
template <int SHIFT>
inline Register shift_and_pack(Register a, Register b) {
  return _mm512_packs_epi32(_mm512_srai_epi32(a, SHIFT), _mm512_srai_epi32(b, SHIFT));
}
inline Register in_order(Register packed) {
  return _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0), packed);
}
// a where x is less than y, else b
inline Register where_less(Register x, Register y, Register a, Register b) {
  return _mm512_mask_mov_epi16(b, _mm512_cmplt_epi16_mask(x, y), a);
}
inline Mask equal(Register a, Register b) { return _mm512_cmpeq_epi16_mask(a, b); }
inline Mask at_most(Register a, Register b) { return _mm512_cmple_epi16_mask(a, b); }
inline __m256i lower_half_min(Register x) {
  return _mm256_min_epi16(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
}
#else
using Register = __m256i;
using Mask = uint32_t;
inline Register load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline void store(void* p, Register x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x); }
inline Register spread32(int32_t x) { return _mm256_set1_epi32(x); }
inline Register spread16(int16_t x) { return _mm256_set1_epi16(x); }
inline Register add32(Register a, Register b) { return _mm256_add_epi32(a, b); }
inline Register min16(Register a, Register b) { return _mm256_min_epi16(a, b); }
inline Register max16(Register a, Register b) { return _mm256_max_epi16(a, b); }
template <int SHIFT>
inline Register shift_and_pack(Register a, Register b) {
  return _mm256_packs_epi32(_mm256_srai_epi32(a, SHIFT), _mm256_srai_epi32(b, SHIFT));
}
inline Register in_order(Register packed) { return _mm256_permute4x64_epi64(packed, 0xd8); }
inline Register where_less(Register x, Register y, Register a, Register b) {
  return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi16(y, x));
}
inline Mask bits(Register x) {
  return _mm_movemask_epi8(_mm_packs_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
}
inline Mask equal(Register a, Register b) { return bits(_mm256_cmpeq_epi16(a, b)); }
inline Mask at_most(Register a, Register b) { return bits(_mm256_cmpgt_epi16(a, b)) ^ 0xffff; }
inline __m256i lower_half_min(Register x) { return x; }
#endif

// A panel of sites is two registers wide.
constexpr int BYTES = sizeof(Register), HALF = BYTES / 4, PANEL_SITES = 2 * HALF;

// Products of unsigned bytes of rows and signed bytes of sites.
#if defined(KFREE_VNNI)
// GCC copies the sums before and after its own function for this; Clang does not, nor is there assembly where a library
// stands for the instructions (tests/native/test_int8_kernels.py).
#if defined(__clang__) || !defined(__x86_64__)
#define KFREE_IN_ASSEMBLY 0
#else
#define KFREE_IN_ASSEMBLY 1
#endif
inline Register add_products(Register sum, Register rows, Register sites) {
#if !KFREE_IN_ASSEMBLY && defined(__AVX512BW__)
  return _mm512_dpbusd_epi32(sum, rows, sites);
#elif !KFREE_IN_ASSEMBLY
  return _mm256_dpbusd_avx_epi32(sum, rows, sites);
#elif defined(__AVX512BW__)
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(rows), "v"(sites));
  return sum;
#else
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(rows), "x"(sites));
  return sum;
#endif
}
#elif defined(__AVX512BW__)
inline Register pairs(Register rows, Register sites) { return _mm512_maddubs_epi16(rows, sites); }
inline Register add16(Register a, Register b) { return _mm512_add_epi16(a, b); }
inline Register widen(Register pairs) { return _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)); }
#else
inline Register pairs(Register rows, Register sites) { return _mm256_maddubs_epi16(rows, sites); }
inline Register add16(Register a, Register b) { return _mm256_add_epi16(a, b); }
inline Register widen(Register pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }
#endif

}  // namespace
}  // namespace kfree
