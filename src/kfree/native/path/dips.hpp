// How many rows lie in windows between two centres, and by how many too few; the theory is in search/path/density_dips.py.
#pragma once
#include <cstdint>

#include "path/between.hpp"

namespace kfree {

// The ways between m pairs of centres: pair (m,2), gap (m,), foot (m,k) as in Segment.
struct Segments {
  const int64_t* pair;
  const double *gap, *foot;
  int64_t m;
};

// What segments show, (m,) each, not a number where an end has fewer than two rows: by how much a window falls short,
// and that in standard deviations.
struct Shortfalls {
  double *excess, *sigmas;
};

// By how much windows of half width `half` in the middle fall short of the geometric mean of those around the centres.
// Returns the variance of the sum of all: a row may take part in several.
double dips_in_the_middle(const HeldOut& rows, const Segments& segments, const Tube& tube, double half, Shortfalls out);

// The same for the one of several places (n_places,) that has the fewest training rows, the middle one of equals, and for
// the emptier of the windows around the centres.
struct Places {
  const double* place;
  int64_t n_places;
  double half;
};
double dips_somewhere(const HeldOut& rows, const HeldOut& training, const Segments& segments, const Tube& tube,
                      const Places& places, Shortfalls out);

}  // namespace kfree
