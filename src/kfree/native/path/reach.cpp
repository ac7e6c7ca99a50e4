#include "path/reach.hpp"

#include <algorithm>
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
  const int64_t low = (n - 1) / 2, high = n / 2;
  // The middle of a sample, with a margin, bounds that of all values, and few lie between the bounds.
  constexpr int64_t SAMPLE = 4096, MARGIN = SAMPLE / 32, AT_ONCE = 1024;
  std::vector<double> middle;
  for (int64_t i = 0; i < n; i += n / SAMPLE + 1) middle.push_back(value[i]);
  std::sort(middle.begin(), middle.end());
  const auto half = static_cast<int64_t>(middle.size()) / 2;
  const double from = middle[std::max<int64_t>(half - MARGIN, 0)];
  const double to = middle[std::min<int64_t>(half + MARGIN, middle.size() - 1)];
  middle.clear();
  int64_t n_before = 0;
  for (int64_t begin = 0; begin < n; begin += AT_ONCE) {
    // Written in any case: to branch on values in random order takes five times as long.
    double between[AT_ONCE];
    int64_t n_between = 0;
    for (int64_t i = begin; i < std::min(n, begin + AT_ONCE); ++i) {
      between[n_between] = value[i];
      n_between += (from <= value[i]) & (value[i] <= to);
      n_before += value[i] < from;
    }
    middle.insert(middle.end(), between, between + n_between);
  }
  if (low < n_before || high >= n_before + static_cast<int64_t>(middle.size())) {  // the sample misleads
    middle.assign(value, value + n);
    n_before = 0;
  }
  const auto at_low = middle.begin() + (low - n_before);
  std::nth_element(middle.begin(), at_low, middle.end());
  return low == high ? *at_low : (*at_low + *std::min_element(at_low + 1, middle.end())) / 2.0;
}

}  // namespace kfree
