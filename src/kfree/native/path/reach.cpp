#include "path/reach.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace kfree {

void neighbour_reach(const double* sq_dist, int64_t n, int64_t m, int64_t nth, double* sq_reach) {
  std::vector<double> nearest(nth);  // ascending
  for (int64_t i = 0; i < n; ++i) {
    std::fill(nearest.begin(), nearest.end(), std::numeric_limits<double>::infinity());
    for (int64_t j = 0; j < m; ++j) {
      const double value = sq_dist[i * m + j];
      if (!(value < nearest.back()) || j == i) continue;
      int64_t place = nth - 1;
      for (; place > 0 && nearest[place - 1] > value; --place) nearest[place] = nearest[place - 1];
      nearest[place] = value;
    }
    sq_reach[i] = nearest.back();
  }
}

double median(const double* value, int64_t n) {
  // Numbers that are not negative are in the order of their bits. The leading ones say which few can be in the middle.
  constexpr int LEADING = 16;
  const auto bucket = [&](int64_t i) {
    uint64_t bits;
    std::memcpy(&bits, value + i, sizeof bits);
    return bits >> (64 - LEADING);
  };
  std::vector<int64_t> count(1 << LEADING);
  for (int64_t i = 0; i < n; ++i) ++count[bucket(i)];
  const int64_t low = (n - 1) / 2, high = n / 2;
  int64_t n_before = 0;
  uint64_t first = 0;
  while (n_before + count[first] <= low) n_before += count[first++];
  uint64_t last = first;
  for (int64_t n_until = n_before + count[first]; n_until <= high;) n_until += count[++last];
  std::vector<double> middle;
  for (int64_t i = 0; i < n; ++i)
    if (first <= bucket(i) && bucket(i) <= last) middle.push_back(value[i]);
  const auto at_low = middle.begin() + (low - n_before);
  std::nth_element(middle.begin(), at_low, middle.end());
  return low == high ? *at_low : (*at_low + *std::min_element(at_low + 1, middle.end())) / 2.0;
}

}  // namespace kfree
