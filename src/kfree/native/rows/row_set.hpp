// Which rows a loop goes over.
#pragma once
#include <cstdint>

#include "core/inlined.hpp"

namespace kfree {

// Some rows: consecutive ones from `first`, or those listed in `index`.
struct RowSet {
  const int64_t* index;
  int64_t first;
  KFREE_INLINE int64_t operator[](int64_t i) const { return index ? index[i] : first + i; }
};

// A squared distance may be infinite; that of a row without weight does not count.
KFREE_INLINE inline double weighed(double weight, double sq_dist) { return weight != 0.0 ? weight * sq_dist : 0.0; }

}  // namespace kfree
