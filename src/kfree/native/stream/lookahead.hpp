// The nearest site of rows that are processed one by one while every row may move a site: a few rows are ranked
// together against the current sites, and each is later compared with the sites that have moved since. Many sites of few
// columns are indexed instead, and each row is searched for when its turn comes. Exact.
#pragma once
#include <cstdint>
#include <vector>

#include "rows/rows.hpp"
#include "rows/site_tree.hpp"

namespace kfree {

struct Near {
  int64_t site;
  double sq_dist;
};

// The canonically nearest site, the first-born on ties; at least one must exist.
Near nearest_of_all(const double* z, const Sites& sites);

class Lookahead {
 public:
  // Rows that are ranked together. As many sites as fit into one panel, or two, will have moved by the end.
  static constexpr int ROWS = 16;

  // Ranks n_rows ≤ ROWS rows from `first` on; from now on they are known by their place among them.
  void open(const Rows& rows, int64_t first, int n_rows, const Sites& sites);
  // Site j has moved, or has just been appended.
  void moved(int64_t j, const Sites& sites);
  // The numbers of sites have changed: earlier results are not valid.
  void forget() {
    ranked_ = indexed_ = false;
    forest_.clear();
  }
  // in z (d,): the coordinates of the row at that place
  Near nearest(int place, const double* z, const Sites& sites) const;

 private:
  bool ranked_ = false, indexed_ = false;
  SiteForest forest_;
  int32_t label_[ROWS];
  double sq_dist_[ROWS], second_[ROWS];
  // The sites that have moved: their numbers, where each site is among them (or −1), and panels of their centres.
  std::vector<int64_t> movers_;
  std::vector<int32_t> slot_;
  std::vector<double> panels_;
  Scratch scratch_;
};

}  // namespace kfree
