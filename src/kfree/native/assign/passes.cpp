#include "assign/passes.hpp"

#include <algorithm>
#include <mutex>

#include "rows/block_stats.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

constexpr int64_t FAR_BLOCK = 256;
// Below this many coordinate differences, starting threads costs more than it saves.
constexpr int64_t WORTH_THREADS = 1 << 20;

// Calls visit(scratch, begin, end) for the tiles of every block, on all threads.
template <class Visit>
void for_tiles(int64_t first, int64_t n, int n_threads, Visit visit) {
  Blocks(n_blocks(n - first, BLOCK)).run(n_threads, [&](Worker& worker) {
    Scratch scratch;
    for (int64_t b; (b = worker.next()) >= 0;) {
      const int64_t block_end = std::min(n, first + (b + 1) * BLOCK);
      for (int64_t begin = first + b * BLOCK; begin < block_end && worker.go_on(); begin += TILE)
        visit(scratch, begin, std::min(block_end, begin + TILE));
    }
  });
}

// The candidate whose estimated potential is below all others by more than the estimates can be off; −1 if none is.
int64_t clear_winner(const Rows& rows, const Sites& candidates, const double* sq_dist, int n_threads) {
  const int64_t k = candidates.k;
  if (k > PANEL) return -1;
  std::vector<double> potential(k, 0.0), error(k, 0.0);
  std::mutex adding;
  Blocks(n_blocks(rows.n, BLOCK)).run(n_threads, [&](Worker& worker) {
    Scratch scratch;
    std::vector<double> sum(k, 0.0), off(k, 0.0);
    double gap[TILE * PANEL], gap_error[TILE];
    for (int64_t b; (b = worker.next()) >= 0;)
      for (int64_t begin = b * BLOCK, end = std::min(rows.n, begin + BLOCK); begin < end; begin += TILE) {
        const int m = static_cast<int>(std::min<int64_t>(TILE, end - begin));
        rows.estimate({nullptr, begin}, m, candidates, scratch, gap, gap_error);
        for (int i = 0; i < m; ++i) {
          const double w = rows.weight(begin + i), now = sq_dist[begin + i];
          for (int64_t j = 0; j < k; ++j) {
            const double then = gap[i * PANEL + j];
            sum[j] += w * std::min(now, then);
            // A candidate that is surely farther than what the row has already leaves nothing to err about.
            off[j] += then - gap_error[i] >= now ? 0.0 : w * gap_error[i];
          }
        }
      }
    std::lock_guard lock(adding);
    for (int64_t j = 0; j < k; ++j) {
      potential[j] += sum[j];
      error[j] += off[j];
    }
  });
  const int64_t best = std::min_element(potential.begin(), potential.end()) - potential.begin();
  // The sums themselves are rounded, the canonical ones as well.
  const double rounding = 0x1p-50 * static_cast<double>(rows.n);
  for (int64_t j = 0; j < k; ++j) {
    const double slack = error[j] + error[best] + rounding * (potential[j] + potential[best]);
    if (j != best && !(potential[best] + slack < potential[j])) return -1;
  }
  return best;
}

// Σ weight·min(sq_dist, squared distance to candidate j), canonically: in fixed blocks, joined in order.
std::vector<double> potentials(const Rows& rows, const Sites& candidates, const double* sq_dist, int n_threads) {
  std::vector<double> potential(candidates.k, 0.0);
  Blocks(n_blocks(rows.n, BLOCK)).run(n_threads, [&](Worker& worker) {
    Scratch scratch;
    std::vector<double> sum(candidates.k);
    for (int64_t b; (b = worker.next()) >= 0;) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (int64_t i = b * BLOCK; i < std::min(rows.n, (b + 1) * BLOCK); ++i) {
        rows.focus(i, scratch);
        for (int64_t p = 0; p < candidates.n_panels(); ++p) {
          double gap[PANEL];
          rows.sq_dist_panel(scratch, candidates, p, gap);
          for (int64_t j = p * PANEL; j < std::min(candidates.k, (p + 1) * PANEL); ++j)
            sum[j] += rows.weight(i) * std::min(sq_dist[i], gap[j - p * PANEL]);
        }
      }
      worker.in_turn(b, [&] {
        for (int64_t j = 0; j < candidates.k; ++j) potential[j] += sum[j];
      });
    }
  });
  return potential;
}

}  // namespace

void accumulate(const Rows& rows, const int32_t* label, const double* sq_dist, int n_threads, StatsOut stats) {
  BlockStats::clear(stats, rows.d);
  Blocks(n_blocks(rows.n, BLOCK)).run(n_threads, [&](Worker& worker) {
    BlockStats block(rows, stats.k);
    for (int64_t b; (b = worker.next()) >= 0;) {
      const int64_t begin = b * BLOCK, n_rows = std::min(BLOCK, rows.n - begin);
      block.gather({nullptr, begin}, n_rows, label + begin, sq_dist + begin);
      worker.in_turn(b, [&] { block.join(stats); });
    }
  });
}

Opened open_clusters(const Rows& rows, const int64_t* far, int64_t n_far, int32_t first_label, double lam, int64_t room,
             int n_threads, int32_t* label, double* sq_dist) {
  Sites newborn(rows.d);
  Opened opened{{}, 0};
  std::vector<double> z(rows.d);
  for (int64_t begin = 0; begin < n_far; begin += FAR_BLOCK) {
    const int64_t end = std::min(n_far, begin + FAR_BLOCK), born_before = newborn.k;
    // Against the clusters born in earlier blocks, all rows of this block at once …
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

void approach(const Rows& rows, const Sites& site, int n_threads, double* sq_dist) {
  for_tiles(0, rows.n, n_threads, [&](Scratch&, int64_t begin, int64_t end) {
    const int32_t only[TILE] = {};
    double gap[TILE];
    rows.sq_dists({nullptr, begin}, end - begin, site, only, gap);
    for (int64_t i = begin; i < end; ++i) sq_dist[i] = std::min(sq_dist[i], gap[i - begin]);
  });
}

int64_t best_candidate(const Rows& rows, const Sites& candidates, const double* sq_dist, int n_threads) {
  const int64_t guess = clear_winner(rows, candidates, sq_dist, n_threads);
  if (guess >= 0) return guess;
  const std::vector<double> potential = potentials(rows, candidates, sq_dist, n_threads);
  return std::min_element(potential.begin(), potential.end()) - potential.begin();
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
