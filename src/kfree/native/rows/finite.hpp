// Whether all values of an array are numbers: neither NaN nor infinite.
#pragma once
#include <atomic>
#include <cmath>
#include <cstdint>

#include "core/parallel.hpp"

namespace kfree {

// in value (n,), `stride` values apart. A number less itself is zero, anything else is NaN, which stays in a sum.
template <class T>
bool all_finite(const T* value, int64_t n, int64_t stride) {
  constexpr int ABREAST = 16;  // sums, so that they need not wait for each other
  T sum[ABREAST] = {};
  int64_t i = 0;
  if (stride == 1)
    for (; i + ABREAST <= n; i += ABREAST)
      for (int lane = 0; lane < ABREAST; ++lane) sum[lane] += value[i + lane] - value[i + lane];
  for (; i < n; ++i) sum[0] += value[i * stride] - value[i * stride];
  for (int lane = 1; lane < ABREAST; ++lane) sum[0] += sum[lane];
  return !std::isnan(sum[0]);
}

// The same for X (n, d) with any strides, on all threads.
template <class T>
bool all_finite(const T* X, int64_t n, int64_t d, int64_t row_stride, int64_t column_stride, int n_threads) {
  std::atomic<bool> finite{true};
  parallel_for(n, d, n_threads, [&](int64_t begin, int64_t end) {
    bool here = true;
    if (column_stride == 1 && row_stride == d)
      here = all_finite(X + begin * d, (end - begin) * d, 1);
    else
      for (int64_t i = begin; i < end && here; ++i) here = all_finite(X + i * row_stride, d, column_stride);
    if (!here) finite = false;
  });
  return finite;
}

}  // namespace kfree
