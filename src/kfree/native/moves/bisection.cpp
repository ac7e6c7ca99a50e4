// Passes for splitting clusters, all of them at once: each row knows the two sites of its cluster and no other.
#include <algorithm>

#include "rows/block_stats.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

// For each block of listed rows: the squared distances to the two sites of their clusters, what `gather` makes of them
// in the block's statistics, and these added to `stats`, in order.
template <class Gather>
void for_pairs(const Rows& rows, RowList list, const Sites& sites, int n_threads, StatsOut stats, Gather gather) {
  BlockStats::clear(stats, rows.d);
  Blocks(n_blocks(list.n, BLOCK)).run(n_threads, [&](Worker& worker) {
    BlockStats block(rows, stats.k);
    int32_t site[BLOCK];
    double first[BLOCK], second[BLOCK];
    for (int64_t b; (b = worker.next()) >= 0;) {
      const int64_t begin = b * BLOCK, m = std::min(BLOCK, list.n - begin);
      const RowSet set = {list.row + begin, 0};
      for (int64_t i = 0; i < m; ++i) site[i] = 2 * list.cluster[begin + i];
      rows.sq_dists(set, m, sites, site, first);
      for (int64_t i = 0; i < m; ++i) ++site[i];
      rows.sq_dists(set, m, sites, site, second);
      gather(block, set, begin, m, first, second);
      worker.in_turn(b, [&] { block.join(stats); });
    }
  });
}

}  // namespace

void choose(const Rows& rows, RowList list, const Sites& sites, int n_threads, int32_t* label, StatsOut stats) {
  for_pairs(rows, list, sites, n_threads, stats,
            [&](BlockStats& block, RowSet set, int64_t begin, int64_t m, double* first, const double* second) {
              for (int64_t i = 0; i < m; ++i) {
                const bool to_second = second[i] < first[i];
                label[begin + i] = 2 * list.cluster[begin + i] + to_second;
                if (to_second) first[i] = second[i];
              }
              block.gather(set, m, label + begin, first);
            });
}

void scatter_product(const Rows& rows, RowList list, const Sites& sites, int n_threads, StatsOut stats) {
  for_pairs(rows, list, sites, n_threads, stats,
            [&](BlockStats& block, RowSet set, int64_t begin, int64_t m, double* first, const double* second) {
              double weight[BLOCK];
              for (int64_t i = 0; i < m; ++i) weight[i] = rows.weight(set[i]) * (second[i] - first[i]);
              block.gather(set, m, list.cluster + begin, weight, first);
            });
}

}  // namespace kfree
