// Bounds kept from one pass to the next, after Hamerly (2010): for each row, a lower bound on the distance to any other
// site. Sites may be added, removed and moved in any way; the caller passes their positions and uids only, and drifts
// are measured here. The fastest sites would weaken the bound of every row, so they are treated separately. Where rows
// have many columns, distances to their own sites are kept as well, and sums of clusters if they are worth the memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "rows/sites.hpp"
#include "rows/stats.hpp"

namespace kfree {

class Bounds {
 public:
  // Up to how many columns other sites are divided by speed (part_by_speed); benchmarks/choices.py measures it.
  static constexpr int64_t PARTED_COLUMNS = 128;

  // prefilter: whether the int8 prefilter is tried; without it, where it is known to pay.
  Bounds(int64_t n_rows, int64_t parted_columns, std::optional<bool> prefilter)
      : parted_columns_(parted_columns), prefilter_(prefilter), label_(n_rows), lower_(n_rows) {}

  int64_t n_rows() const { return label_.size(); }

  // Distances to the rows' own sites are kept as well: a site that has not moved at all leaves its rows where they were.
  // That is for any number of rows from MANY_COLUMNS on, where it adds little to what a row takes; for few rows from
  // KEPT_COLUMNS on.
  static constexpr int64_t MANY_COLUMNS = 64, MOST_KEPT_ROWS = 1 << 16, KEPT_COLUMNS = 16;

  // Takes the bounds over to these sites: the same uid is the same site, wherever it is now.
  void update(const Sites& sites, const int64_t* uids, int n_threads);
  // To be called when every row has been kept. A pass that was stopped leaves no valid bounds.
  void finish() { complete_ = true; }

  // out label (end − begin,): the site that each row was with, under its present number; −1 if it has died or there was
  // none.
  void labels(int64_t begin, int64_t end, int32_t* label) const;
  // in label, sq_dist (end − begin,): a site for each row and the squared distance to it, NaN if it is not known. Rows
  // that have no other site as near, in canonical arithmetic too, are kept with it; the rest is written to `open`,
  // which has room for all. Returns their number.
  int64_t settle(int64_t begin, int64_t end, const int32_t* label, const double* sq_dist, int64_t* open);
  // Whether a bound shows that no other site is as near.
  bool exceeds(double lower, double sq_dist) const { return lower > 0.0 && lower * lower > up_ * sq_dist; }

  // No site but `label` is nearer to the row than this; the second, no slow site.
  double lower(int64_t row, int32_t label) const {
    return down_ * static_cast<double>(lower_[row]) - (label == fastest_ ? second_drift_ : largest_drift_);
  }
  double lower_of_slow(int64_t row) const { return down_ * static_cast<double>(lower_[row]) - slow_drift_; }

  // From now on the row is with `label`, and no other site is nearer to it than `lower`.
  void keep(int64_t row, int32_t label, double lower) {
    label_[row] = label;
    lower_[row] = stored(lower);
  }

  // The same for n rows from `begin` on. in label, lower (n,)
  void keep(int64_t begin, int n, const int32_t* label, const double* lower) {
    std::copy(label, label + n, label_.data() + begin);
    float* into = lower_.data() + begin;
    for (int i = 0; i < n; ++i) into[i] = stored(lower[i]);
  }

  // The same for rows begin…end−1 where there is one site.
  void keep_only_site(int64_t begin, int64_t end) {
    std::fill(label_.begin() + begin, label_.begin() + end, 0);
    std::fill(lower_.begin() + begin, lower_.begin() + end, stored(std::numeric_limits<double>::infinity()));
  }

  // Whether squared distances of the last complete pass are kept; that of a row, if its site is one that has not moved.
  bool keeps_distances() const { return !sq_dist_.empty(); }
  bool has_moved(int32_t label) const { return has_moved_[label]; }
  double kept_sq_dist(int64_t row) const { return sq_dist_[row]; }
  // in sq_dist (end − begin,): to the sites that the rows are with now.
  void keep_distances(int64_t begin, int64_t end, const double* sq_dist) {
    if (keeps_distances()) std::copy(sq_dist, sq_dist + (end - begin), sq_dist_.data() + begin);
  }

  // The distances of the listed rows to their own sites, if these sites and labels are those of the last complete pass;
  // false if not, or if distances are not kept. in centres (k, d); out sq_dist (list.n,)
  bool measured(RowList list, const double* centres, int64_t k, int64_t d, double* sq_dist) const;

  // Whether this pass can use sums of the last complete one: they were kept, and sites have the same numbers. A cluster
  // that no row came to or left since then has the same sum of coordinates, to the last bit.
  bool knows_sums() const { return !holds_.empty(); }
  // in has_changed (k,): whether some rows came or left
  void forget_sums(const std::vector<char>& has_changed) {
    for (size_t j = 0; j < holds_.size(); ++j) holds_[j] &= !has_changed[j];
  }
  // Valid until sums are kept.
  KnownSums known_sums() const { return knows_sums() ? KnownSums{sum_.data(), holds_.data()} : KnownSums{}; }
  // in sum (k, d): sums of this pass, null if they are not worth keeping
  void keep_sums(const double* sum) {
    if (sum)
      sum_.assign(sum, sum + centre_.size());
    else
      sum_ = {};  // the memory is free for others
  }

  const Subset& fastest() const { return fastest_sites_; }
  // Whether no site but the fastest may be nearer than a row's own: neither that one nor the slow sites have moved, so
  // that distances are the same, and with the same numbers ties are too.
  bool rests_among_slow(int32_t label) const { return same_numbers_ && slow_rest_ && !has_moved_[label]; }

  // Of `n_prefiltered` rows, the prefilter has decided n_decided. If it was tried on rows from everywhere and decided
  // few, it is not tried again.
  void judge_prefilter(int64_t n_prefiltered, int64_t n_decided) {
    if (16 * n_prefiltered >= static_cast<int64_t>(label_.size()) && !worthwhile(n_prefiltered, n_decided))
      prefilter_pays_ = false;
  }
  // `pays`: whether it does on this processor for such rows and sites.
  bool tries_prefilter(bool pays) const { return prefilter_pays_ && prefilter_.value_or(pays); }
  static bool worthwhile(int64_t n_prefiltered, int64_t n_decided) { return 5 * n_decided >= 2 * n_prefiltered; }

 private:
  // Bounds are stored in half the space, and surely not more than they are; below LEAST they are given up. The share
  // that rounding down gives away also covers the roundings of sparse distances, which are larger than dense ones'.
  static constexpr double ROUNDED_DOWN = 1.0 - 0x1p-23, LEAST = 1e-30;
  static float stored(double lower) {
    return lower > LEAST ? static_cast<float>(std::min(lower * ROUNDED_DOWN, 3e38)) : 0.0f;
  }
  std::vector<int32_t> old_numbers(const Sites& sites, const int64_t* uids) const;
  std::vector<double> measure_drift(const Sites& sites, const int64_t* uids, int n_threads);
  void set_fastest_apart(const Sites& sites, const std::vector<double>& drift);
  void part_by_speed(const Sites& sites, const std::vector<double>& drift, int n_threads);
  // `settle` where sites are divided in so many ways.
  template <int N_LEVELS>
  int64_t settle_by(int64_t begin, int64_t end, const int32_t* label, const double* sq_dist, int64_t* open);
  double half(double gap) const { return 0.5 * ROUNDED_DOWN * down_ * gap; }

  const int64_t parted_columns_;
  const std::optional<bool> prefilter_;
  Uninitialised<int32_t> label_;  // among the sites of the last complete pass; of this one for rows kept since then
  Uninitialised<float> lower_;  // anything where there is no label
  std::vector<double> sq_dist_;  // empty if it is not kept
  std::vector<char> has_moved_;  // (k,)
  bool complete_ = false, prefilter_pays_ = true;
  // Sums of the last complete pass, empty if they are not kept, and whether each is known to hold in this one: 1 or 0.
  Uninitialised<double> sum_;
  std::vector<char> holds_;  // (k,), empty if no sums are known
  // The sites that the bounds hold for.
  Uninitialised<double> centre_;
  std::vector<int64_t> uids_;
  // From those to the present ones.
  std::vector<int32_t> renumbered_;
  bool same_numbers_ = false;
  Subset fastest_sites_;
  std::vector<int32_t> by_speed_;  // the fastest sites and a few more, fastest first
  int32_t fastest_ = -1;
  // How far the fastest site has moved, the next one, and those that are not among the fastest; and the drift beyond
  // which a bound is not kept (set_fastest_apart).
  double largest_drift_ = 0.0, second_drift_ = 0.0, slow_drift_ = 0.0, drift_limit_ = 0.0;
  bool slow_rest_ = false;  // whether no site has moved that is not among the fastest
  // Other sites fall in two parts in several ways, each with a bound for both: how far the sites of the first part have
  // come, and half the distance between the row's site and the nearest of the second part.
  static constexpr int MOST_LEVELS = 3;
  struct Level {
    double drift, half_dist_to_fast_sites;  // in this order: they are loaded together
  };
  struct SpeedLevels {
    Level level[MOST_LEVELS];
  };
  std::vector<SpeedLevels> speed_levels_;
  int n_levels_ = 0;
  // A little more and a little less than one: all roundings of distances and of the sums made with them.
  double up_ = 1.0, down_ = 1.0;
};

}  // namespace kfree
