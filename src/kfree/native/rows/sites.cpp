#include "rows/sites.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/pairs.hpp"
#include "core/parallel.hpp"

namespace kfree {

Sites::Sites(const double* centres, int64_t k, int64_t d, int n_threads) : d(d), k(k), centre(k * d) {
  const int64_t padded = (k + PANEL - 1) / PANEL * PANEL;
  panels.resize(padded * d);
  panels32.resize(padded * d);
  half_norm32.resize(padded, FARTHEST);
  sq_norm.resize(k);
  norm.resize(k);
  std::mutex joining;
  parallel_for(n_panels(), PANEL * d, n_threads, [&](int64_t begin, int64_t end) {
    Extent extent;
    for (int64_t p = begin; p < end; ++p) extent.widen(take_over(centres, p));
    std::lock_guard lock(joining);
    extent_.widen(extent);
  });
}

// Column by column, so that panels are written from end to end and the sums of several sites do not wait for each other;
// two columns of two sites at a time.
Sites::Extent Sites::take_over(const double* centres, int64_t p) {
  const int64_t first = p * PANEL, n = std::min<int64_t>(PANEL, k - first);
  const double* from = centres + first * d;
  double* to = panels.data() + first * d;
  float* to32 = panels32.data() + first * d;
  std::copy_n(from, n * d, centre.data() + first * d);
  Pair sum[PANEL / 2] = {}, largest[PANEL / 2] = {};
  const auto put = [&](int64_t t, int64_t lane, Pair values) KFREE_INLINE {
    put_pair(to + t * PANEL + lane, values);
    put_narrowed(to32 + t * PANEL + lane, values);
    sum[lane / 2] += values * values;
    largest[lane / 2] = higher_of(largest[lane / 2], higher_of(values, -values));
  };
  int64_t t = 0;
  for (; t + 2 <= d; t += 2)
    for (int64_t lane = 0; lane < PANEL; lane += 2) {
      const Pair none = {};
      const Pair a = lane < n ? pair_at(from + lane * d + t) : none;
      const Pair b = lane + 1 < n ? pair_at(from + (lane + 1) * d + t) : none;
      put(t, lane, firsts(a, b));
      put(t + 1, lane, seconds(a, b));
    }
  const auto last = [&](int64_t lane) { return lane < n ? from[lane * d + t] : 0.0; };
  for (int64_t lane = 0; lane < PANEL && t < d; lane += 2) put(t, lane, Pair{last(lane), last(lane + 1)});
  Extent extent;
  for (int64_t lane = 0; lane < n; ++lane)
    extent.widen(measured(first + lane, sum[lane / 2][lane % 2], largest[lane / 2][lane % 2]));
  return extent;
}

void Sites::append(const double* c) {
  if (k % PANEL == 0) {
    panels.resize(panels.size() + d * PANEL, 0.0);
    panels32.resize(panels32.size() + d * PANEL, 0.0f);
    half_norm32.resize(half_norm32.size() + PANEL, FARTHEST);
  }
  centre.resize(centre.size() + d);
  sq_norm.push_back(0.0);
  norm.push_back(0.0);
  place(k++, c);
}

void Sites::truncate(int64_t n_kept) {
  const int64_t padded = (n_kept + PANEL - 1) / PANEL * PANEL;
  panels.resize(padded * d);
  panels32.resize(padded * d);
  half_norm32.resize(padded);
  std::fill(half_norm32.begin() + n_kept, half_norm32.end(), FARTHEST);
  centre.resize(n_kept * d);
  sq_norm.resize(n_kept);
  norm.resize(n_kept);
  k = n_kept;
}

void Sites::place(int64_t j, const double* c) {
  const int64_t offset = (j / PANEL) * d * PANEL + j % PANEL;
  double sum = 0.0, largest = 0.0;
  for (int64_t t = 0; t < d; ++t) {
    centre[j * d + t] = c[t];
    panels[offset + t * PANEL] = c[t];
    panels32[offset + t * PANEL] = static_cast<float>(c[t]);
    sum += c[t] * c[t];
    largest = std::max(largest, std::fabs(c[t]));
  }
  extent_.widen(measured(j, sum, largest));
}

Sites::Extent Sites::measured(int64_t j, double sum, double largest) {
  sq_norm[j] = sum;
  norm[j] = std::sqrt(sum);
  half_norm32[j] = static_cast<float>(0.5 * sum);
  return {norm[j], largest};
}

double dist_between(const double* a, const double* b, int64_t d) {
  // Several sums, because one would be a chain in which every addition waits for the last.
  Pair sum[4] = {};
  int64_t t = 0;
  for (; t + 8 <= d; t += 8)
    for (int s = 0; s < 4; ++s) {
      const Pair gap = pair_at(a + t + 2 * s) - pair_at(b + t + 2 * s);
      sum[s] += gap * gap;
    }
  for (; t < d; ++t) sum[0][0] += (a[t] - b[t]) * (a[t] - b[t]);
  const Pair all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  return std::sqrt(all[0] + all[1]);
}

void Subset::take(const Sites& sites, const int32_t* ids, int64_t n) {
  const int64_t d = sites.d, n_panels = (n + PANEL - 1) / PANEL;
  id.assign(ids, ids + n);
  panels32.assign(n_panels * d * PANEL, 0.0f);
  half_norm32.assign(n_panels * PANEL, FARTHEST);
  for (int64_t i = 0; i < n; ++i) {
    const float* from = sites.panels32.data() + (ids[i] / PANEL) * d * PANEL + ids[i] % PANEL;
    float* to = panels32.data() + (i / PANEL) * d * PANEL + i % PANEL;
    for (int64_t t = 0; t < d; ++t) to[t * PANEL] = from[t * PANEL];
    half_norm32[i] = sites.half_norm32[ids[i]];
  }
}

}  // namespace kfree
