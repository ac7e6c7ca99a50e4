// Sums in the order in which NumPy adds up contiguous values, so that a result has the bits of its twin in NumPy.
#pragma once
#include <cstdint>

namespace kfree {

// Eight sums side by side over up to 128 values; more are halved, at a multiple of eight.
inline double numpy_sum(const double* value, int64_t n) {
  constexpr int64_t ABREAST = 8, AT_ONCE = 128;
  if (n > AT_ONCE) {
    const int64_t half = n / 2 - n / 2 % ABREAST;
    return numpy_sum(value, half) + numpy_sum(value + half, n - half);
  }
  double total = 0.0;
  int64_t i = 0;
  if (n >= ABREAST) {
    double sum[ABREAST];
    for (; i < ABREAST; ++i) sum[i] = value[i];
    for (; i + ABREAST <= n; i += ABREAST)
      for (int64_t j = 0; j < ABREAST; ++j) sum[j] += value[i + j];
    total = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  }
  for (; i < n; ++i) total += value[i];
  return total;
}

}  // namespace kfree
