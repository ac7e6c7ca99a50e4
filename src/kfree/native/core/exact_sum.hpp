// The sum of numbers, rounded once: the same bits as Python's math.fsum (Shewchuk 1997).
#pragma once
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace kfree {

// A sum that overflows, or of numbers that are not finite, is not finite.
inline double exact_sum(const double* value, int64_t n) {
  std::vector<double> partial;  // do not overlap, in ascending order of size
  for (int64_t i = 0; i < n; ++i) {
    double x = value[i];
    size_t kept = 0;
    for (size_t j = 0; j < partial.size(); ++j) {
      double y = partial[j];
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double high = x + y, low = y - (high - x);
      if (low != 0.0) partial[kept++] = low;
      x = high;
    }
    partial.resize(kept);
    partial.push_back(x);
  }
  if (partial.empty()) return 0.0;
  double high = partial.back(), low = 0.0;
  size_t j = partial.size() - 1;
  while (j > 0 && low == 0.0) {
    const double x = high, y = partial[--j];
    high = x + y;
    low = y - (high - x);
  }
  // Half-way cases are rounded to even only if nothing follows.
  if (j > 0 && ((low < 0.0 && partial[j - 1] < 0.0) || (low > 0.0 && partial[j - 1] > 0.0))) {
    const double y = 2.0 * low, x = high + y;
    if (y == x - high) high = x;
  }
  return high;
}

}  // namespace kfree
