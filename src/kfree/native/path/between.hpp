// Rows between two centres, for the test of density dips; the theory is in search/path/density_dips.py.
#pragma once
#include <cstdint>
#include <vector>

namespace kfree {

// The way from centre a to centre b; foot (k,) says for every centre which point of the way is next to it, 0 at a, 1 at b.
struct Segment {
  int64_t a, b;
  double gap, sq_gap;
  const double* foot;
};

// sq_dist (k,n), squared distances of rows to all centres; label (n,), the nearest; weight (n,).
struct HeldOut {
  const double* sq_dist;
  const int64_t* label;
  const double* weight;
  int64_t k, n;
};

struct Between {
  std::vector<int64_t> row;
  std::vector<double> place;  // on the way: the members of a have their mean at −½, those of b at ½
};

// Rows within the tube that holds the `share` of the rows of a and b, within the cell of the segment, and with a place
// within ±`reach`. a and b have two rows each at least. A row is left out of the mean that its place is relative to,
// unless the others have less than `least_share` of the weight.
Between between(const HeldOut& rows, const Segment& segment, double share, double reach, double least_share);

}  // namespace kfree
