// Greedy merging of clusters that are given by weights and inner products of their sums.
#pragma once
#include <cstdint>
#include <functional>

#include "core/partners.hpp"

namespace kfree {

// in n (k,), weights, and gram (k,k), inner products of the clusters' sums, symmetric; both are spoilt. `directions` says
// that centres are unit vectors. out pairs (k−1,2): the clusters a < b that became one, called a from then on; cost (k−1,): what that
// added. The cheapest pair comes first, the smallest one on ties. go_on is asked between merges; false means stop.
void merge_by_gram(double* n, double* gram, int64_t k, bool directions, int64_t* pairs, double* cost,
                   const std::function<bool()>& go_on);

// The cheapest pair a < b with a < m, the smallest one on ties; (0, 0) with an infinite cost if none has a cost.
// in n (k,), weights; sq_sum (k,), inner products of the clusters' sums with themselves; products (m,k), with all
MergePair cheapest_pair(const double* n, const double* sq_sum, const double* products, int64_t m, int64_t k,
                        bool directions);

}  // namespace kfree
