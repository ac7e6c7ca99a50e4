#include "assign/passes.hpp"

#include <algorithm>

#include "assign/labels.hpp"
#include "core/parallel.hpp"
#include "rows/tiles.hpp"

namespace kfree {

void accumulate(const Rows& rows, const int32_t* label, const double* sq_dist, int n_threads, StatsOut out) {
  require_labels(label, rows.n, out.k);
  Stats stats(rows, out, n_threads);
  stats.add_all(label, sq_dist);
  stats.finish();
}

void distances_to_own(const Rows& rows, RowList list, const Sites& sites, int n_threads, double* sq_dist) {
  for_tiles(0, list.n, n_threads, [&](Scratch&, int64_t begin, int64_t end) {
    rows.sq_dists({list.row + begin, 0}, end - begin, sites, list.cluster + begin, sq_dist + begin);
  });
}

void distances(const Rows& rows, const Sites& sites, int n_threads, double* sq_dist) {
  for_tiles(0, rows.n, n_threads, [&](Scratch& scratch, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      rows.focus(i, scratch);
      for (int64_t p = 0; p < sites.n_panels(); ++p) {
        double gap[PANEL];
        rows.sq_dist_panel(scratch, sites, p, gap);
        for (int64_t j = p * PANEL; j < std::min(sites.k, (p + 1) * PANEL); ++j)
          sq_dist[i * sites.k + j] = gap[j - p * PANEL];
      }
    }
  });
}

}  // namespace kfree
