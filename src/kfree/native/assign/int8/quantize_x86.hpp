// Sixteen coordinates at a time as bytes, on x86-64. For kernel_x86.cpp alone, as registers_x86.hpp.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace kfree {
namespace {

// (z − centre)/step, rounded and no larger than LARGEST. Of all coordinates so far: Σ q² in `norm`, and the squares of
// what that leaves out in `off`.
template <int LARGEST>
class Sixteens {
 public:
  explicit Sixteens(float step) : step_(spread(step)), scale_(spread(1.0f / step)) {}

#if defined(__AVX512BW__)
  __m128i next(const float* z, const float* centre) {
    const __m512 limit = spread(LARGEST);
    const __m512 value = _mm512_sub_ps(_mm512_loadu_ps(z), _mm512_loadu_ps(centre));
    const __m512 bounded = _mm512_max_ps(_mm512_min_ps(_mm512_mul_ps(value, scale_), limit), spread(-LARGEST));
    const __m512i rounded = _mm512_cvtps_epi32(bounded);
    const __m512 left = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(rounded), step_, value);
    off_ = _mm512_fmadd_ps(left, left, off_);
    // Squares by products of 16 bits: of the lower halves, which hold all of a number.
    norm_ = _mm512_add_epi32(norm_, _mm512_madd_epi16(_mm512_and_si512(rounded, _mm512_set1_epi32(0xffff)), rounded));
    return _mm512_cvtepi32_epi8(rounded);
  }
  float sq_off() const { return _mm512_reduce_add_ps(off_); }
  int32_t sq_norm() const { return _mm512_reduce_add_epi32(norm_); }

 private:
  static __m512 spread(float x) { return _mm512_set1_ps(x); }
  const __m512 step_, scale_;
  __m512 off_ = _mm512_setzero_ps();
  __m512i norm_ = _mm512_setzero_si512();
#else
  __m128i next(const float* z, const float* centre) {
    const __m256i low = eight(z, centre, off_[0]), high = eight(z + 8, centre + 8, off_[1]);
    const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
    norm_ = _mm256_add_epi32(norm_, _mm256_madd_epi16(both, both));
    return _mm_packs_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  }
  float sq_off() const {
    float offs[8], sum = 0.0f;
    _mm256_storeu_ps(offs, _mm256_add_ps(off_[0], off_[1]));
    for (const float off : offs) sum += off;
    return sum;
  }
  int32_t sq_norm() const {
    int32_t norms[8], sum = 0;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(norms), norm_);
    for (const int32_t norm : norms) sum += norm;
    return sum;
  }

 private:
  __m256i eight(const float* z, const float* centre, __m256& off) const {
    const __m256 limit = spread(LARGEST);
    const __m256 value = _mm256_sub_ps(_mm256_loadu_ps(z), _mm256_loadu_ps(centre));
    const __m256 bounded = _mm256_max_ps(_mm256_min_ps(_mm256_mul_ps(value, scale_), limit), spread(-LARGEST));
    const __m256i rounded = _mm256_cvtps_epi32(bounded);
    const __m256 left = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(rounded), step_, value);
    off = _mm256_fmadd_ps(left, left, off);
    return rounded;
  }
  static __m256 spread(float x) { return _mm256_set1_ps(x); }
  const __m256 step_, scale_;
  __m256 off_[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  __m256i norm_ = _mm256_setzero_si256();
#endif
};

}  // namespace
}  // namespace kfree
