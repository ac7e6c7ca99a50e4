// Passes over the rows: each is one call from Python; reference/passes.py has the reference implementation under the
// same name.
// Sums are made in fixed blocks of the global row number and joined by a fixed tree over block numbers
// (core/sum_tree.hpp), so results depend neither on the number of threads nor on that of parts.
#pragma once
#include <cstdint>
#include <vector>

#include "assign/bounds.hpp"
#include "rows/rows.hpp"
#include "rows/stats.hpp"

namespace kfree {

// Rows are handed out in pieces, so small that no thread waits long for the last ones. What is tried on a piece does not
// depend on others, so that the number of distances does not depend on the number of threads either.
constexpr int64_t PIECE = 512;
static_assert(BLOCK % PIECE == 0, "a piece lies within a block");

// Rows decided by their bounds are not ranked. in uids (k,); in-out bounds, which never change the answer
// out label, sq_dist (n,), stats about the sites; far (n,) or null: whether weight·sq_dist exceeds lam
// Returns the number of distances between a row and a site that were computed.
int64_t nearest(const Rows& rows, const Sites& sites, const int64_t* uids, double lam, int n_threads, Bounds& bounds,
                int32_t* label, double* sq_dist, StatsOut stats, bool* far);

// Lloyd's algorithm: passes, each about the means of the last one, until no label changes or the cost Σ sse + penalty does
// not fall; no further than `max_passes`, or than a pass that leaves a cluster without weight.
// in uids (k,); in-out centres (k,d), bounds; out label, sq_dist (n,), stats of the cheapest pass, the last one on ties
struct Descent {
  int64_t n_passes = 0, n_distances = 0;
  bool converged = false;
  double cost = 0.0;
};
Descent k_means(const Rows& rows, int64_t k, double* centres, const int64_t* uids, double penalty, int64_t max_passes,
                int n_threads, Bounds& bounds, int32_t* label, double* sq_dist, StatsOut stats);

// in number (sites.k,); out label (n,): the number of the nearest site, first-born on ties
// Returns the number of distances that were computed.
int64_t nearest_labels(const Rows& rows, const Sites& sites, const int32_t* number, int n_threads, int32_t* label);

// in label, sq_dist (n,); out stats
void accumulate(const Rows& rows, const int32_t* label, const double* sq_dist, int n_threads, StatsOut stats);

// Per cluster the sum, modulo 2^64, of a hash of its rows' global numbers: two assignments are compared by these.
// in label (n,); out sum (k,)
void fingerprints(const Rows& rows, const int32_t* label, int64_t k, int n_threads, uint64_t* sum);

// Rows `far` (n_far,) in visiting order: each joins the nearest site or, beyond lam, opens a cluster centred on itself,
// which later rows may join; no more than `room` are opened, numbered from first_label.
// in-out label, sq_dist (n,)
struct Opened {
  std::vector<int64_t> founders;  // as positions in `far`
  int64_t n_refused;              // rows that would have opened a cluster but found no room
};
Opened open_clusters(const Rows& rows, const int64_t* far, int64_t n_far, int32_t first_label, double lam, int64_t room,
             int n_threads, int32_t* label, double* sq_dist);

// Rows visited after a birth join the newborn cluster where it is strictly nearer.
// in order (n,) or null: the visiting order; newborn sites, born_at (newborn.k,) their places in it, ascending
// in-out label, sq_dist (n,)
void join_newborn(const Rows& rows, const int64_t* order, const Sites& newborn, const int64_t* born_at, int32_t first_label,
           int n_threads, int32_t* label, double* sq_dist);

// in-out sq_dist (n,): lowered to the squared distance to the one site where that is less
void approach(const Rows& rows, const Sites& site, int n_threads, double* sq_dist);

// The candidate j with the smallest potential Σ weight·min(sq_dist, squared distance to j), the first one on ties
int64_t best_candidate(const Rows& rows, const Sites& candidates, const double* sq_dist, int n_threads);

// For the two passes below, rows are listed in ascending order, each once.
// Every listed row goes to one of the two sites of its cluster, 2·cluster and 2·cluster + 1, the first one on ties.
// out label (list.n,), stats (sites.k,) about the sites
void choose(const Rows& rows, RowList list, const Sites& sites, int n_threads, int32_t* label, StatsOut stats);

// Per cluster Σ s and Σ s·z over the listed rows, with s = weight·(squared distance to the second site − to the first):
// positive where the first is nearer. out stats (sites.k / 2,), of which sse is not defined
void scatter_product(const Rows& rows, RowList list, const Sites& sites, int n_threads, StatsOut stats);

// The nearest site of each listed row apart from its cluster's own, the first one on ties.
// out second, sq_dist (list.n,); sites.k ≥ 2
void second_nearest(const Rows& rows, RowList list, const Sites& sites, int n_threads, int32_t* second, double* sq_dist);

// What deleting each cluster adds to the cost if its listed rows go to `second` (list.n,) instead: Σ weight·(squared
// distance to that site − to their own). Rows are listed in ascending order, each once.
// out cost (sites.k,)
void deletion_costs(const Rows& rows, RowList list, const int32_t* second, const Sites& sites, int n_threads,
                    double* cost);

// Clusters that change by a row at a time: weights (k,), sums and centres (k, d), and how far each centre has come (k,).
struct MovingClusters {
  int64_t k;
  double* n;
  double* sum;
  double* centres;
  double* path_length;
};

// Rows that may change clusters, each listed once: for each, `list.cluster` names one that it may go to, or −1 for the
// one where it costs least at the start. They are visited in order, round by round; a row moves, or moves back, if that
// saves more than least_gain. The shift of both centres is included in the cost, and made after every move.
class Exchange {
 public:
  Exchange(const Rows& rows, RowList list, double least_gain, int n_threads, const int32_t* label,
           MovingClusters clusters);

  const Rows& rows() const { return rows_; }

  // Visits every row once. in-out clusters, label (n,). Returns how many rows moved.
  int64_t round(MovingClusters clusters, int32_t* label);

  // Distances of a row to both centres when it was last evaluated, less the path length of its own centre at that time
  // and plus that of the other. Later distances are bounded by these and the current path lengths.
  struct LastDistances {
    bool known = false;
    double own = 0.0, other = 0.0;

    double own_at_most(double path_length) const;
    double other_at_least(double path_length) const;
  };

 private:
  template <class Visitor>
  int64_t visit_all(Visitor& visitor, int32_t* label);
  template <class Visitor>
  int64_t visit_some(Visitor& visitor, int64_t begin, int64_t end, int32_t* label);

  const Rows& rows_;
  const double least_gain_;
  const int n_threads_;
  std::vector<int64_t> row_;
  std::vector<int32_t> other_;
  std::vector<LastDistances> last_;
  std::vector<char> may_move_;
  double max_step_ = 0.0;
};

// Squared distances of the listed rows to the sites of their clusters. out sq_dist (list.n,)
void distances_to_own(const Rows& rows, RowList list, const Sites& sites, int n_threads, double* sq_dist);

// out sq_dist (n, k)
void distances(const Rows& rows, const Sites& sites, int n_threads, double* sq_dist);

// Draws in proportion to numbers that rows have, by a descent of the tree over block numbers; core/masses.py has the
// reference implementation.
class Masses {
 public:
  // in mass (n,), not negative, which is read until the last draw
  Masses(const double* mass, int64_t n, int64_t block);

  double total() const { return levels_.back()[0]; }
  // The row at which the running sum exceeds the target; a node without mass is not chosen unless all are.
  int64_t row_at(double target) const;

 private:
  int64_t row_within(int64_t begin, int64_t end, double target) const;

  const double* mass_;
  const int64_t n_, block_;
  std::vector<std::vector<double>> levels_;  // the masses of the nodes of each level, from blocks to the total
};

}  // namespace kfree
