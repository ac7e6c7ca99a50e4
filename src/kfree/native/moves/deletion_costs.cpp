// What it costs to delete clusters.
#include <algorithm>

#include "assign/passes.hpp"
#include "core/parallel.hpp"
#include "rows/cluster_sums.hpp"

namespace kfree {

void deletion_costs(const Rows& rows, RowList list, const int32_t* second, const Sites& sites, int n_threads,
                    double* cost) {
  const int64_t begin = list.n ? list.row[0] / BLOCK : 0, end = list.n ? list.row[list.n - 1] / BLOCK + 1 : 0;
  ClusterTree tree(rows.first_block + begin, rows.first_block + end);
  const auto place = [&](int64_t row) { return std::lower_bound(list.row, list.row + list.n, row) - list.row; };
  Blocks(end - begin).run(n_threads, [&](Worker& worker) {
    double now[BLOCK], then[BLOCK];
    for (int64_t b; (b = worker.next()) >= 0;) {
      const int64_t first = place((begin + b) * BLOCK), m = place((begin + b + 1) * BLOCK) - first;
      auto sums = m ? fresh_sums(tree, rows.buffers(), sites.k, 1) : nullptr;
      const RowSet set = {list.row + first, 0};
      rows.sq_dists(set, m, sites, list.cluster + first, now);
      rows.sq_dists(set, m, sites, second + first, then);
      for (int64_t i = 0; i < m; ++i) {
        const int32_t record = sums->record_of(list.cluster[first + i]);
        sums->records()[record] += rows.weight(set[i]) * (then[i] - now[i]);
      }
      tree.put({0, rows.first_block + begin + b}, std::move(sums));
    }
  });
  finish(tree, {}, sites.k, 1, n_threads,
         [&](int64_t, int64_t j, const double* record) { cost[j] = record ? *record : 0.0; });
}

}  // namespace kfree
