// What one pass knows about the next, in the manner of Hamerly (2010): for each row, a distance that no other site is
// nearer than. Sites may come, go and move in any way; whoever calls tells nothing but where they are now and who they
// are, and what moved is measured here. The few fastest sites would spoil the bound of every row, so they are set apart.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sites.hpp"

namespace kfree {

class Bounds {
 public:
  explicit Bounds(int64_t n_rows) : label_(n_rows, -1), lower_(n_rows) {}

  // Takes the bounds over to these sites: the same uid is the same site, wherever it is now.
  void turn_to(const Sites& sites, const int64_t* uids);
  // To be called when every row has been kept. A pass that is broken off leaves nothing to build on.
  void finish() { complete_ = true; }

  // out label (end − begin,): the site that each row was with, under its present number; −1 if it has died or there was
  // none.
  void labels(int64_t begin, int64_t end, int32_t* label) const;
  // in label, sq_dist (end − begin,): a site for each row and the squared distance to it, NaN if it means nothing.
  // Rows that have no other site as near, in canonical arithmetic too, are kept with it; the rest is added to `open`.
  void settle(int64_t begin, int64_t end, const int32_t* label, const double* sq_dist, std::vector<int64_t>& open);
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

  const Subset& fastest() const { return fastest_sites_; }

 private:
  // In half the space, and surely not more; what float32 can hardly express is given up. The share that rounding down
  // gives away also covers the roundings of sparse distances, which are larger than those of dense ones.
  static float stored(double lower) {
    return lower > 1e-30 ? static_cast<float>(std::min(lower * (1.0 - 0x1p-23), 3e38)) : 0.0f;
  }
  std::vector<double> measure_drift(const Sites& sites, const int64_t* uids);
  void set_fastest_apart(const Sites& sites, const std::vector<double>& drift);

  std::vector<int32_t> label_;  // among the sites of the last complete pass; of this one for rows kept since turn_to
  std::vector<float> lower_;
  bool complete_ = false;
  // The sites that the bounds hold for.
  std::vector<double> centre_;
  std::vector<int64_t> uids_;
  // From those to the present ones.
  std::vector<int32_t> renumbered_;
  bool same_numbers_ = false;
  Subset fastest_sites_;
  int32_t fastest_ = -1;
  // How far the fastest site has come, the next one, and those that are not among the fastest; and the drift that a
  // bound must outlast to be worth keeping (set_fastest_apart).
  double largest_drift_ = 0.0, second_drift_ = 0.0, slow_drift_ = 0.0, lasting_drift_ = 0.0;
  // A little more and a little less than one: all roundings of distances and of the sums made with them.
  double up_ = 1.0, down_ = 1.0;
};

}  // namespace kfree
