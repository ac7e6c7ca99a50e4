// Stands for the header of x86-64's intrinsics where SIMDe does their work (test_int8_kernels.py): what SIMDe does not
// have is defined here by its lanes.
#pragma once
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>

#include <cstdint>
#include <cstring>

#if !defined(_MM_FROUND_NO_EXC)
#define _MM_FROUND_NO_EXC SIMDE_MM_FROUND_NO_EXC
#endif
#define _mm256_dpbusd_avx_epi32 simde_mm256_dpbusd_epi32
#undef _mm512_madd_epi16  // SIMDe 0.7 gives it the arguments of another function
#define _mm512_madd_epi16 simde_mm512_madd_epi16

template <class T>
struct Lanes512 {
  T lane[64 / sizeof(T)];
  explicit Lanes512(simde__m512i x) { std::memcpy(lane, &x, 64); }
  simde__m512i value() const {
    simde__m512i x;
    std::memcpy(&x, lane, 64);
    return x;
  }
};

#undef _mm512_srai_epi32
inline simde__m512i _mm512_srai_epi32(simde__m512i a, unsigned shift) {
  Lanes512<int32_t> x(a);
  for (int32_t& lane : x.lane) lane >>= shift;
  return x.value();
}

#undef _mm512_cmplt_epi16_mask
inline uint32_t _mm512_cmplt_epi16_mask(simde__m512i a, simde__m512i b) {
  const Lanes512<int16_t> x(a), y(b);
  uint32_t mask = 0;
  for (int i = 0; i < 32; ++i) mask |= static_cast<uint32_t>(x.lane[i] < y.lane[i]) << i;
  return mask;
}

#undef _mm512_cmpeq_epi16_mask
inline uint32_t _mm512_cmpeq_epi16_mask(simde__m512i a, simde__m512i b) {
  return ~(_mm512_cmplt_epi16_mask(a, b) | _mm512_cmplt_epi16_mask(b, a));
}
