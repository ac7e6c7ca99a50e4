// Bounds that let a row keep its label without being ranked (Hamerly 2010), for sites that come, go and move.
// Whoever calls tells nothing but where the sites are now and who they are; what moved is measured here.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "sites.hpp"

namespace kfree {

class Bounds {
 public:
  explicit Bounds(int64_t n_rows) : label_(n_rows, -1), lower_(n_rows) {}

  // Takes the bounds over to these sites: the same uid is the same site, wherever it is now.
  void turn_to(const Sites& sites, const int64_t* uids);
  // Distances from each site to the nearest other one, or less; for when they are worth computing.
  void set_gaps(std::vector<double> gaps) { gap_ = std::move(gaps); }
  // To be called when every row has been kept. A pass that is broken off leaves nothing to build on.
  void finish() { complete_ = true; }

  // The site that the row was with, under its present number; −1 if it has died or there was none.
  int32_t label(int64_t row) const { return label_[row] < 0 ? -1 : renumbered_[label_[row]]; }
  // No site but `label` is nearer to the row than this, if the row lies `dist` from that one.
  double lower(int64_t row, int32_t label, double dist) const;
  // Whether a row that lies `dist` from its site has no other as near, in canonical arithmetic too.
  bool settled(double dist, double lower) const { return up_ * dist < lower; }
  void keep(int64_t row, int32_t label, double lower);

 private:
  std::vector<int32_t> label_;  // among the sites of the last complete pass; of this one for rows kept since turn_to
  std::vector<float> lower_;
  bool complete_ = false;
  // The sites that the bounds hold for.
  std::vector<double> centre_;
  std::vector<int64_t> uids_;
  // From those to the present ones.
  std::vector<int32_t> renumbered_;
  std::vector<double> drift_of_others_, newborn_gap_, gap_;
  // A little more and a little less than one: all roundings of a distance and of the sums made with it.
  double up_ = 1.0, down_ = 1.0;
};

}  // namespace kfree
