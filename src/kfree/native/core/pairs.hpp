// Two numbers of float64 at a time: as wide as every instruction set's registers, and each lane computes as a scalar would.
#pragma once
#include <cstdint>

#include "core/inlined.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace kfree {

typedef double Pair __attribute__((vector_size(16)));
typedef int64_t PairMask __attribute__((vector_size(16)));

// Four numbers of float32, wherever they lie.
typedef float LoadedFour __attribute__((vector_size(16), aligned(4), may_alias));

typedef double LoadedPair __attribute__((vector_size(16), aligned(8), may_alias));
KFREE_INLINE inline Pair pair_at(const double* p) { return *reinterpret_cast<const LoadedPair*>(p); }
KFREE_INLINE inline void put_pair(double* p, Pair values) { *reinterpret_cast<LoadedPair*>(p) = values; }
KFREE_INLINE inline Pair pair_at(const float* p) {
#if defined(__aarch64__)
  return vcvt_f64_f32(vld1_f32(p));
#else
  return Pair{p[0], p[1]};
#endif
}

KFREE_INLINE inline void put_narrowed(float* p, Pair values) {
#if defined(__aarch64__)
  vst1_f32(p, vcvt_f32_f64(values));
#else
  p[0] = static_cast<float>(values[0]);
  p[1] = static_cast<float>(values[1]);
#endif
}

// Of two vectors, lane by lane; what is not a number may be lost. Registers of 64-bit ARM hold pairs.
template <class Vector>
KFREE_INLINE inline Vector lower_of(Vector a, Vector b) {
#if defined(__aarch64__)
  return vminnmq_f64(a, b);
#else
  return a < b ? a : b;
#endif
}
template <class Vector>
KFREE_INLINE inline Vector higher_of(Vector a, Vector b) {
#if defined(__aarch64__)
  return vmaxnmq_f64(a, b);
#else
  return a < b ? b : a;
#endif
}
// The first and the second numbers of both.
KFREE_INLINE inline Pair firsts(Pair a, Pair b) { return Pair{a[0], b[0]}; }
KFREE_INLINE inline Pair seconds(Pair a, Pair b) { return Pair{a[1], b[1]}; }

}  // namespace kfree
