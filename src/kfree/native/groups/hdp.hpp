// Passes over rows that come in groups: which of the shared sites each group uses costs a penalty per site (Kulis &
// Jordan 2012, §4). reference/hdp.py has the reference implementation under the same names.
#pragma once
#include <cstdint>
#include <vector>

#include "rows/rows.hpp"

namespace kfree {

// Rows `member` (n_rows,), those of group g being member[begin[g]] … member[begin[g + 1] − 1].
struct Groups {
  const int64_t* member;
  const int64_t* begin;  // (n + 1,)
  int64_t n;
};

// The cost of removing each site: cost (k,), and where rows would go, successor (k, k).
struct DeletionCosts {
  double* cost;
  bool* successor;
};

// Every group chooses the sites that it uses, each at the penalty lam_local, and its rows go to the nearest of those.
// The choice is a local optimum: no site more, less or instead of another is cheaper.
// in-out used (n groups, k): where to start, and the choice; out label, sq_dist (n rows,); deletion_costs or nulls
void allot(const Rows& rows, Groups groups, const Sites& sites, double lam_local, int n_threads, bool* used,
           int32_t* label, double* sq_dist, DeletionCosts deletion_costs);

// Step 4 of Algorithm 2, group after group: each row joins what is nearest, sites that its group does not use yet being
// lam_local farther off, or, beyond lam_local + lam_global, opens a site at its own place; each takes effect
// immediately.
// in used (n groups, k); out label, sq_dist (n rows,). Returns the rows that opened a site, numbered from k on.
std::vector<int64_t> visit(const Rows& rows, Groups groups, const Sites& sites, double lam_local, double lam_global,
                           int n_threads, const bool* used, int32_t* label, double* sq_dist);

// out second (n rows,): the nearest site that the group uses besides the row's own, −1 if it uses no other
void seconds(const Rows& rows, Groups groups, const Sites& sites, int n_threads, const bool* used,
             const int32_t* label, int32_t* second, double* sq_dist);

}  // namespace kfree
