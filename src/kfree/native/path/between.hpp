// Rows between two centres, for the test of density dips; the theory is in search/path/density_dips.py.
#pragma once
#include <cstdint>
#include <vector>

namespace kfree {

// The way from centre a to centre b; foot (k,) says for every centre which point of the way is next to it, 0 at a, 1 at b.
struct Segment {
  int64_t a, b;
  double gap;
  const double* foot;
};

// sq_dist (k,n), squared distances of rows to all centres; weight (n,).
struct HeldOut {
  const double *sq_dist, *weight;
  int64_t k, n;
};

// Which rows count as between two centres: those in the tube that holds the `share` of the rows of both, with a place
// within ±`reach`. A row is left out of the mean that its place is relative to, unless the others have less than
// `least_share` of the weight.
struct Tube {
  double share, reach, least_share;
};

// Held-out rows by their nearest centre, and those between two centres.
class RowsBetween {
 public:
  RowsBetween(const HeldOut& rows, const Tube& tube);

  // Finds the rows within the tube, the cell of the segment and the reach; false where an end has fewer than two rows.
  bool find(const Segment& segment);
  // What was found.
  std::vector<int64_t> row;
  std::vector<double> place, weight;  // places on the way: the members of a have their mean at −½, those of b at ½

 private:
  struct End;

  const HeldOut& rows_;
  const Tube tube_;
  std::vector<int64_t> label_, begin_, member_;  // the members of centre c are member_[begin_[c]] … in row order
  std::vector<double> along_, sq_off_, of_ends_;
};

// The sum of values in the order in which NumPy adds up contiguous ones, so that a result has the bits of its twin.
double numpy_sum(const double* value, int64_t n);

}  // namespace kfree
