// Two vectors mixed lane by lane.
#pragma once
#include <utility>

#include "core/inlined.hpp"

namespace kfree {

template <class Vector>
constexpr int LANES_OF = sizeof(Vector) / sizeof(Vector{}[0]);

template <int STEP, bool HAVE, class Vector, int... LANE>
KFREE_INLINE inline Vector half_of(Vector x, Vector y, std::integer_sequence<int, LANE...>) {
  return __builtin_shufflevector(x, y,
                                 ((LANE & ~STEP) + (HAVE ? STEP : 0) + (LANE & STEP ? int(sizeof...(LANE)) : 0))...);
}
// The lanes of x and y whose numbers have the bit STEP, or the others: x's in the places without it, y's in those with it.
template <int STEP, bool HAVE, class Vector>
KFREE_INLINE inline Vector half_of(Vector x, Vector y) {
  return half_of<STEP, HAVE>(x, y, std::make_integer_sequence<int, LANES_OF<Vector>>());
}

// Turns as many vectors as they have lanes from rows into columns.
template <int STEP = 1, class Vector, int N>
KFREE_INLINE inline void transpose(Vector (&v)[N]) {
  static_assert(N == LANES_OF<Vector>, "a square");
  if constexpr (STEP < N) {
    for (int r = 0; r < N; ++r)
      if (!(r & STEP)) {
        const Vector first = half_of<STEP, false>(v[r], v[r + STEP]);
        v[r + STEP] = half_of<STEP, true>(v[r], v[r + STEP]);
        v[r] = first;
      }
    transpose<2 * STEP>(v);
  }
}

}  // namespace kfree
