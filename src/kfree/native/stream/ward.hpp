// Greedy merging of the cheapest pair (Odashima et al. 2016, Algorithm 4).
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "rows/sites.hpp"

namespace kfree {

struct Merge {
  int64_t into, from;  // places among the sites; the older one stays
  double share;        // of `from` in the weight of both: how far the centre of `into` moves
};

struct Merges {
  std::vector<Merge> list;  // in the order in which they are made
  double lowest;            // what the cheapest pair left would cost; infinite when there is none
};

// Merges as long as the cheapest pair costs less than `penalty`, the first pair on ties. A pair costs what it adds to the
// squared distances, w_a·w_b/(w_a + w_b)·‖c_a − c_b‖², which is Eq. 10 without its penalty.
// in sites, weight (k,), both taken by value and spoilt; go_on is asked between rows of work and false means stop,
// upon which Interrupted is thrown
Merges merge_cheapest(Sites sites, std::vector<double> weight, double penalty, const std::function<bool()>& go_on);

// c ← the mean of both, as seen from c: out into (d,)
inline void move_towards(double* into, const double* from, double share, int64_t d) {
  for (int64_t t = 0; t < d; ++t) into[t] += (from[t] - into[t]) * share;
}

}  // namespace kfree
