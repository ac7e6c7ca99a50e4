// Greedy merging of clusters that are given by weights and inner products of their sums.
#pragma once
#include <cstdint>
#include <functional>

namespace kfree {

// in n (k,), weights, and gram (k,k), inner products of the clusters' sums, symmetric; both are spoilt. `directions` says
// that centres are unit vectors. out pairs (k−1,2): the clusters a < b that became one, called a from then on; cost (k−1,): what that
// added. The cheapest pair comes first, the smallest one on ties. go_on is asked between merges; false means stop.
void merge_by_gram(double* n, double* gram, int64_t k, bool directions, int64_t* pairs, double* cost,
                   const std::function<bool()>& go_on);

}  // namespace kfree
