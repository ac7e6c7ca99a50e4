// Births of a sweep: far rows open clusters, and later rows join them (Kulis & Jordan 2012, Algorithm 1).
#include <algorithm>

#include "assign/passes.hpp"
#include "core/parallel.hpp"
#include "rows/tiles.hpp"

namespace kfree {
namespace {

constexpr int64_t FAR_BLOCK = 256;
// Below this many coordinate differences, starting threads costs more than it saves.
constexpr int64_t WORTH_THREADS = 1 << 20;

}  // namespace

Opened open_clusters(const Rows& rows, const int64_t* far, int64_t n_far, int32_t first_label, double lam, int64_t room,
             int n_threads, int32_t* label, double* sq_dist) {
  Sites newborn(rows.d);
  Opened opened{{}, 0};
  std::vector<double> z(rows.d);
  for (int64_t begin = 0; begin < n_far; begin += FAR_BLOCK) {
    const int64_t end = std::min(n_far, begin + FAR_BLOCK), born_before = newborn.k;
    // All rows of this block against the clusters born in earlier blocks …
    const bool worth_threads = (end - begin) * born_before * rows.d >= WORTH_THREADS;
    if (born_before > 0)
      Blocks(n_blocks(end - begin, TILE)).run(worth_threads ? n_threads : 1, [&](Worker& worker) {
        Scratch scratch;
        int32_t nearest[TILE];
        double near[TILE], lower[TILE];
        for (int64_t b; (b = worker.next()) >= 0;) {
          const int64_t i0 = begin + b * TILE;
          const int m = static_cast<int>(std::min<int64_t>(TILE, end - i0));
          rows.nearest({far + i0, 0}, m, newborn, born_before, scratch, nearest, near, lower);
          for (int i = 0; i < m; ++i)
            if (near[i] < sq_dist[far[i0 + i]]) {
              sq_dist[far[i0 + i]] = near[i];
              label[far[i0 + i]] = first_label + nearest[i];
            }
        }
      });
    // … then one after the other against those born in this one.
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = far[i];
      for (int64_t j = born_before; j < newborn.k; ++j) {
        const double near = rows.sq_dist(row, newborn, static_cast<int32_t>(j));
        if (near < sq_dist[row]) {
          sq_dist[row] = near;
          label[row] = first_label + static_cast<int32_t>(j);
        }
      }
      if (!(rows.weight(row) * sq_dist[row] > lam)) continue;
      if (newborn.k == room) {
        ++opened.n_refused;
      } else {
        label[row] = first_label + static_cast<int32_t>(newborn.k);
        sq_dist[row] = 0.0;
        rows.copy(row, z.data());
        newborn.append(z.data());
        opened.founders.push_back(i);
      }
    }
  }
  return opened;
}

void join_newborn(const Rows& rows, const int64_t* order, const Sites& newborn, const int64_t* born_at, int32_t first_label,
           int n_threads, int32_t* label, double* sq_dist) {
  const int64_t* born_end = born_at + newborn.k;
  for_tiles(born_at[0] + 1, rows.n, n_threads, [&](Scratch& scratch, int64_t begin, int64_t end) {
    int32_t nearest[TILE];
    double near[TILE], lower[TILE];
    const RowSet tile = {order ? order + begin : nullptr, begin};
    const int m = static_cast<int>(end - begin);
    // Born before the tile: for all of it. Born within it: for the rows after.
    const int64_t older = std::lower_bound(born_at, born_end, begin) - born_at;
    rows.nearest(tile, m, newborn, older, scratch, nearest, near, lower);
    for (int i = 0; i < m; ++i) {
      for (int64_t j = older; j < newborn.k && born_at[j] < begin + i; ++j) {
        const double gap = rows.sq_dist(tile[i], newborn, static_cast<int32_t>(j));
        if (gap < near[i]) {
          near[i] = gap;
          nearest[i] = static_cast<int32_t>(j);
        }
      }
      if (near[i] < sq_dist[tile[i]]) {
        sq_dist[tile[i]] = near[i];
        label[tile[i]] = first_label + nearest[i];
      }
    }
  });
}

}  // namespace kfree
