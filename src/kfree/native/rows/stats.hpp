// Statistics of clusters over rows. A record of ClusterSums is then: total weight, weighted squared distances, weighted
// sum of coordinates (d,).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "rows/cluster_sums.hpp"
#include "rows/rows.hpp"

namespace kfree {

// Per cluster: total weight (k,), weighted sum of coordinates (k, d), weighted squared distances (k,). Or the same for
// each of the nodes of Rows::nodes, in arrays with one more axis before these: what a part of the rows hands on.
struct StatsOut {
  int64_t k;
  double* n;
  double* sum;
  double* sse;
  bool by_node = false;
};

// Some rows with what is to be added up: places first…first + n − 1 of arrays as long as all.
struct Weighed {
  RowSet rows;  // ascending
  int64_t n;
  const int32_t* label;
  const double* sq_dist;
  const double* weight = nullptr;  // instead of the rows' own; may be negative
};

// Sums of coordinates that are what they were in another pass: sum (k, d), and of which clusters (k,), or nulls.
struct KnownSums {
  const double* sum = nullptr;
  const char* is_known = nullptr;
};

// The statistics of one pass. Blocks are taken in runs, aligned nodes of the tree, each by one thread.
class Stats {
 public:
  // Of blocks begin…end−1, as numbered within `rows`.
  Stats(const Rows& rows, StatsOut out, int64_t begin, int64_t end, int n_threads);
  Stats(const Rows& rows, StatsOut out, int n_threads) : Stats(rows, out, 0, rows.n_blocks(), n_threads) {}

  // Whether rows are added up cluster by cluster: those of a run take so much memory that no cache holds them.
  bool by_cluster() const { return by_cluster_; }
  // Sums that need not be added up, where that is by cluster and `out` is not by node. To be called before `add`.
  void know(KnownSums known) { known_ = known; }

  int64_t n_runs() const { return n_runs_; }
  // The first block of a run, and that after the last of run n_runs() − 1, as numbered within the rows.
  int64_t run_begin(int64_t run) const;
  // The run that a block belongs to.
  int64_t run_of(int64_t block) const { return ((rows_.first_block + block) >> level_) - first_run_; }

  // Adds up all rows of a run, of which there may be none. Every run once, from any thread, in any order.
  void add(int64_t run, const Weighed& some);
  // All runs of all rows, in parallel. in label, sq_dist (n,)
  void add_all(const int32_t* label, const double* sq_dist);
  // Writes the results, once all runs are added.
  void finish();

 private:
  int64_t width() const { return rows_.d + 2; }
  void add(TreeNode node, const Weighed& some);
  std::unique_ptr<ClusterSums> add_block(const Weighed& some);
  std::unique_ptr<ClusterSums> add_by_cluster(TreeNode node, const Weighed& some);

  const Rows& rows_;
  const StatsOut out_;
  const int64_t begin_, end_;
  const int n_threads_;
  ClusterTree tree_;
  const bool by_cluster_;
  KnownSums known_;
  int level_ = 0;  // of a whole run
  int64_t first_run_ = 0, n_runs_ = 0;
};

}  // namespace kfree
