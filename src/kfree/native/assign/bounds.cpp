#include "assign/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "core/pairs.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

// Comparing a row with one in so many sites takes less than half the time of ranking them all.
constexpr size_t MOVED_SHARE = 3;
// Sites that are slower than this share of the fastest one hardly weaken a bound.
constexpr double CREEPING = 1e-3;
// A move whose square underflows is shorter than this.
constexpr double LEAST_DRIFT = 1e-150;
constexpr double INFINITE = std::numeric_limits<double>::infinity();
// How many sites are set apart: one panel, or two where that is still a small part of all, so that comparing a row with
// them takes a fraction of the time of ranking.
size_t n_fastest(int64_t k) { return k >= 16 * PANEL ? 2 * PANEL : k >= 4 * PANEL ? PANEL : 0; }

}  // namespace

void Bounds::update(const Sites& sites, const int64_t* uids, int n_threads) {
  const double rounding = 0x1p-51 * static_cast<double>(sites.d + 16);
  up_ = 1.0 + rounding;
  down_ = 1.0 - rounding;
  if (!complete_) {
    parallel_for(label_.size(), 1, n_threads, [this](int64_t begin, int64_t end) {
      std::fill(label_.begin() + begin, label_.begin() + end, -1);
    });
    sum_.clear();
  }
  complete_ = false;
  const auto n_rows = static_cast<int64_t>(label_.size());
  if (sites.d >= (n_rows <= MOST_KEPT_ROWS ? KEPT_COLUMNS : MANY_COLUMNS)) sq_dist_.resize(n_rows);
  const std::vector<double> drift = measure_drift(sites, uids, n_threads);
  set_fastest_apart(sites, drift);
  part_by_speed(sites, drift, n_threads);
  const bool knows_sums = same_numbers_ && !sum_.empty() && sum_.size() == static_cast<size_t>(sites.k * sites.d);
  holds_.assign(knows_sums ? sites.k : 0, 1);
  centre_.resize(sites.k * sites.d);
  uids_.assign(uids, uids + sites.k);
  parallel_for(sites.k, sites.d, n_threads, [&](int64_t begin, int64_t end) {
    std::copy(sites[begin], sites[end], centre_.data() + begin * sites.d);
  });
}

void Bounds::labels(int64_t begin, int64_t end, int32_t* label) const {
  std::copy(label_.data() + begin, label_.data() + end, label);
  if (same_numbers_) return;
  for (int64_t i = 0; i < end - begin; ++i)
    if (label[i] >= 0) label[i] = renumbered_[label[i]];
}

bool Bounds::measured(RowList list, const double* centres, int64_t k, int64_t d, double* sq_dist) const {
  if (!complete_ || !keeps_distances() || uids_.size() != static_cast<size_t>(k)) return false;
  if (!std::equal(centres, centres + k * d, centre_.begin(), centre_.end())) return false;
  for (int64_t i = 0; i < list.n; ++i) {
    const int64_t row = list.row[i];
    if (label_[row] != list.cluster[i]) return false;
    sq_dist[i] = sq_dist_[row];
  }
  return true;
}

int64_t Bounds::settle(int64_t begin, int64_t end, const int32_t* label, const double* sq_dist, int64_t* open) {
  if (!same_numbers_) std::copy(label, label + (end - begin), label_.data() + begin);
  switch (n_levels_) {  // compiled for each number
    case 0: return settle_by<0>(begin, end, label, sq_dist, open);
    case 1: return settle_by<1>(begin, end, label, sq_dist, open);
    case 2: return settle_by<2>(begin, end, label, sq_dist, open);
    default: return settle_by<MOST_LEVELS>(begin, end, label, sq_dist, open);
  }
}

template <int N_LEVELS>
int64_t Bounds::settle_by(int64_t begin, int64_t end, const int32_t* label, const double* sq_dist, int64_t* open) {
  // Locals, because the compiler must assume that writes may alias members; two rows at a time, without branches.
  const double down = down_, up = up_, drift_limit = drift_limit_, drift = largest_drift_;
  const SpeedLevels* levels = speed_levels_.data();
  float* lower = lower_.data() + begin;
  const int64_t n = end - begin;
  const auto settle_two = [&](int64_t i, int64_t j, Pair stored, Pair gap, Pair& kept) {
    const Pair known = down * stored;
    // A bound for the first part is one for all while it is less than half the way to the second: a row nearer than
    // that to its own site is farther than that from those.
    const Level *own_i = levels[label[i]].level, *own_j = levels[label[j]].level;
    Pair near = {};
    for (int l = 0; l < N_LEVELS; ++l) {
      const Pair a = pair_at(&own_i[l].drift), b = pair_at(&own_j[l].drift);
      near = higher_of(near, lower_of(known - firsts(a, b), seconds(a, b)));
    }
    // A bound that the fastest sites have made much weaker would not last until the next pass: where slow ones leave
    // more than twice as much, the row is left open.
    const Pair left = higher_of(known - drift_limit, near);
    const PairMask sure = (left > LEAST) & (left * left > up * gap);
    kept = sure ? higher_of(known - drift, near) * ROUNDED_DOWN : stored;
    return sure;
  };
  int64_t n_open = 0;
  // sure: −1 or 0
  const auto list = [&](int64_t i, int64_t sure) {
    open[n_open] = begin + i;
    n_open += 1 + sure;
  };
  Pair kept;
  for (int64_t i = 0; i + 2 <= n; i += 2) {
    const PairMask sure = settle_two(i, i + 1, pair_at(lower + i), pair_at(sq_dist + i), kept);
    put_narrowed(lower + i, kept);
    list(i, sure[0]);
    list(i + 1, sure[1]);
  }
  if (n % 2) {
    const int64_t i = n - 1;
    list(i, settle_two(i, i, Pair{lower[i]}, Pair{sq_dist[i]}, kept)[0]);
    lower[i] = static_cast<float>(kept[0]);
  }
  return n_open;
}

// The number that each present site had in the last pass, −1 for newborn ones.
std::vector<int32_t> Bounds::old_numbers(const Sites& sites, const int64_t* uids) const {
  std::vector<int32_t> old(sites.k, -1);
  if (std::equal(uids_.begin(), uids_.end(), uids, uids + sites.k)) {
    std::iota(old.begin(), old.end(), 0);
    return old;
  }
  std::unordered_map<int64_t, int32_t> old_number;
  for (size_t j = 0; j < uids_.size(); ++j) old_number[uids_[j]] = static_cast<int32_t>(j);
  for (int64_t j = 0; j < sites.k; ++j)
    if (const auto found = old_number.find(uids[j]); found != old_number.end()) old[j] = found->second;
  return old;
}

// An upper bound on how far each present site has moved, zero if it rests; no bound holds for a newborn one.
std::vector<double> Bounds::measure_drift(const Sites& sites, const int64_t* uids, int n_threads) {
  const std::vector<int32_t> old = old_numbers(sites, uids);
  renumbered_.assign(uids_.size(), -1);
  for (int64_t j = 0; j < sites.k; ++j)
    if (old[j] >= 0) renumbered_[old[j]] = static_cast<int32_t>(j);
  std::vector<double> drift(sites.k, INFINITE);
  has_moved_.assign(sites.k, 1);
  parallel_for(sites.k, sites.d, n_threads, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      if (old[j] < 0) continue;
      const double *now = sites[j], *before = centre_.data() + old[j] * sites.d;
      has_moved_[j] = !std::equal(now, now + sites.d, before);
      drift[j] = has_moved_[j] ? std::max(up_ * dist_between(now, before, sites.d), LEAST_DRIFT) : 0.0;
    }
  });
  same_numbers_ = renumbered_.size() == static_cast<size_t>(sites.k);
  for (size_t j = 0; same_numbers_ && j < renumbered_.size(); ++j)
    same_numbers_ = renumbered_[j] == static_cast<int32_t>(j);
  return drift;
}

// The slow sites, and the 2, 8 or 32 fastest, if that is a small part of all.
void Bounds::part_by_speed(const Sites& sites, const std::vector<double>& drift, int n_threads) {
  constexpr size_t N_FAST[MOST_LEVELS] = {2, 8, 32};
  speed_levels_.resize(sites.k);
  n_levels_ = 0;
  while (n_levels_ < MOST_LEVELS && sites.d <= parted_columns_ && 4 * N_FAST[n_levels_] <= drift.size()) ++n_levels_;
  const int64_t n_compared = n_levels_ ? static_cast<int64_t>(N_FAST[n_levels_ - 1]) : 0;
  parallel_for(sites.k, n_compared * sites.d, n_threads, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      double gap = INFINITE;  // to the nearest of the fast ones
      size_t n_measured = 0;
      for (int l = 0; l < n_levels_; ++l) {
        for (; n_measured < N_FAST[l]; ++n_measured)
          if (const int32_t fast = by_speed_[n_measured]; j != fast)
            gap = std::min(gap, dist_between(sites[j], sites[fast], sites.d));
        speed_levels_[j].level[l] = {drift[by_speed_[N_FAST[l]]], half(gap)};
      }
    }
  });
}

void Bounds::set_fastest_apart(const Sites& sites, const std::vector<double>& drift) {
  std::vector<int32_t> order(sites.k);
  std::iota(order.begin(), order.end(), 0);
  const auto n_moved = static_cast<size_t>(std::count(has_moved_.begin(), has_moved_.end(), 1));
  const bool few_move = sites.d > parted_columns_ && MOVED_SHARE * n_moved <= order.size();
  // More than are set apart or parted from the rest.
  const size_t n_sorted = std::min(std::max<size_t>(few_move ? n_moved : 0, 2 * PANEL) + 2, order.size());
  std::partial_sort(order.begin(), order.begin() + n_sorted, order.end(),
                    [&](int32_t a, int32_t b) { return drift[a] > drift[b] || (drift[a] == drift[b] && a < b); });
  size_t n = n_fastest(sites.k);
  // Sites of many columns are not parted by speed. If few of them have moved at all, and more than a few have moved far,
  // these are the ones to compare with: all others rest.
  slow_rest_ = few_move && (n_moved <= n || drift[order[n]] > CREEPING * drift[order[0]]);
  if (slow_rest_) n = n_moved;
  fastest_ = order[0];
  largest_drift_ = drift[order[0]];
  second_drift_ = order.size() > 1 ? drift[order[1]] : 0.0;
  slow_drift_ = drift[order[n]];
  // bound − limit ≥ dist  ⇔  bound − largest − dist ≥ ½ (bound − slow − dist)
  drift_limit_ = slow_drift_ == INFINITE ? INFINITE : 2.0 * largest_drift_ - slow_drift_;
  fastest_sites_.take(sites, order.data(), static_cast<int64_t>(n));
  order.resize(n_sorted);
  by_speed_ = std::move(order);
}

}  // namespace kfree
