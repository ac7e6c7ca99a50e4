// Lloyd's algorithm in one call: where rows are few, calls from Python take longer than passes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "assign/passes.hpp"

namespace kfree {
namespace {

// The sum of numbers, rounded once: the same bits as Python's math.fsum (Shewchuk 1997). A sum that overflows, or of
// numbers that are not finite, is not finite.
double exact_sum(const double* value, int64_t n) {
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

// What a pass leaves.
struct Passed {
  std::vector<double> centres, n, sum, sse, sq_dist;
  std::vector<int32_t> label;
  double cost = 0.0;

  Passed(const Rows& rows, int64_t k)
      : centres(k * rows.d), n(k), sum(k * rows.d), sse(k), sq_dist(rows.n), label(rows.n) {}
  bool all_have_weight() const {
    return std::all_of(n.begin(), n.end(), [](double weight) { return weight > 0.0; });
  }
};

// Up to so many products of coordinates, comparing all rows with all sites takes less time than keeping bounds.
constexpr int64_t FEW_PRODUCTS = 1 << 19;

// What `nearest` gives, on one thread. Returns the number of distances.
int64_t nearest_of_all(const Rows& rows, const Sites& sites, Scratch& scratch, int32_t* label, double* sq_dist,
                       StatsOut out) {
  double second[TILE];
  for (int64_t begin = 0; begin < rows.n; begin += TILE) {
    const int n_rows = static_cast<int>(std::min<int64_t>(TILE, rows.n - begin));
    rows.nearest({nullptr, begin}, n_rows, sites, sites.k, scratch, label + begin, sq_dist + begin, second);
  }
  Stats stats(rows, out, 1);
  stats.add_all(label, sq_dist);
  stats.finish();
  return rows.n * sites.k;
}

}  // namespace

Descent k_means(const Rows& rows, int64_t k, double* centres, const int64_t* uids, double penalty, int64_t max_passes,
                int n_threads, Bounds& bounds, int32_t* label, double* sq_dist, StatsOut stats) {
  Descent descent;
  Passed old(rows, k), now(rows, k);
  Scratch scratch;
  const bool are_few = rows.n * k <= FEW_PRODUCTS / std::max<int64_t>(rows.d, 1);
  const auto pass = [&](Passed& state) {
    const Sites sites(state.centres.data(), k, rows.d, n_threads);
    const StatsOut out = {k, state.n.data(), state.sum.data(), state.sse.data()};
    int32_t* labels = state.label.data();
    double* sq_dists = state.sq_dist.data();
    descent.n_distances += are_few ? nearest_of_all(rows, sites, scratch, labels, sq_dists, out)
                                   : nearest(rows, sites, uids, std::numeric_limits<double>::infinity(), n_threads,
                                             bounds, labels, sq_dists, out, nullptr);
    state.cost = exact_sum(state.sse.data(), k) + penalty;
    ++descent.n_passes;
  };
  std::copy_n(centres, k * rows.d, old.centres.begin());
  pass(old);
  while (descent.n_passes < max_passes && !descent.converged && std::isfinite(old.cost) && old.all_have_weight()) {
    for (int64_t j = 0; j < k; ++j)
      for (int64_t t = 0; t < rows.d; ++t) now.centres[j * rows.d + t] = old.sum[j * rows.d + t] / old.n[j];
    pass(now);
    // The same rows weigh the same, to the last bit.
    const bool unchanged = now.n == old.n && now.label == old.label;
    descent.converged = unchanged || !(now.cost < old.cost);
    if (now.cost <= old.cost) std::swap(now, old);
  }
  std::copy(old.centres.begin(), old.centres.end(), centres);
  std::copy(old.label.begin(), old.label.end(), label);
  std::copy(old.sq_dist.begin(), old.sq_dist.end(), sq_dist);
  std::copy(old.n.begin(), old.n.end(), stats.n);
  std::copy(old.sum.begin(), old.sum.end(), stats.sum);
  std::copy(old.sse.begin(), old.sse.end(), stats.sse);
  descent.cost = old.cost;
  return descent;
}

}  // namespace kfree
