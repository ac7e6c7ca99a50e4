// Order statistics of distances, for the test of rows that are far from all others.
#pragma once
#include <cstdint>

namespace kfree {

// in sq_dist (n,m), of all rows to the first m; out sq_reach (n,): the nth smallest of each row, counted from 1, that to
// itself left out; infinite if there are fewer
void neighbour_reach(const double* sq_dist, int64_t n, int64_t m, int64_t nth, double* sq_reach);

// The median of n ≥ 1 values, none of which is negative or not a number: the mean of the middle two if n is even.
double median(const double* value, int64_t n);

}  // namespace kfree
