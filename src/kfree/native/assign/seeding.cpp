// Passes for seeding: distances to the nearest seed, and which candidate leaves the smallest potential.
#include <algorithm>
#include <limits>
#include <mutex>

#include "assign/passes.hpp"
#include "core/parallel.hpp"
#include "rows/cluster_sums.hpp"
#include "rows/tiles.hpp"

namespace kfree {
namespace {

// The candidate whose estimated potential is below all others by more than the estimates can be off; −1 if none is.
// out may_gain (n,): whether some candidate may be nearer to the row than what it has already.
int64_t clear_winner(const Rows& rows, const Sites& candidates, const double* sq_dist, int n_threads, char* may_gain) {
  const int64_t k = candidates.k;
  if (k > PANEL) return -1;
  double potential[PANEL] = {}, error[PANEL] = {};
  std::mutex adding;
  Blocks(n_blocks(rows.n, BLOCK)).run(n_threads, [&](Worker& worker) {
    Scratch scratch;
    double sum[PANEL] = {}, off[PANEL] = {};
    for (int64_t b; (b = worker.next()) >= 0;)
      for (int64_t begin = b * BLOCK, end = std::min(rows.n, begin + BLOCK); begin < end; begin += TILE) {
        const int m = static_cast<int>(std::min<int64_t>(TILE, end - begin));
        rows.add_potentials(begin, m, candidates, sq_dist + begin, scratch, sum, off, may_gain + begin);
      }
    std::lock_guard lock(adding);
    for (int64_t j = 0; j < k; ++j) {
      potential[j] += sum[j];
      error[j] += off[j];
    }
  });
  const int64_t best = std::min_element(potential, potential + k) - potential;
  // The sums themselves are rounded, the canonical ones as well.
  const double rounding = 0x1p-50 * static_cast<double>(rows.n);
  for (int64_t j = 0; j < k; ++j) {
    const double slack = error[j] + error[best] + rounding * (potential[j] + potential[best]);
    if (j != best && !(potential[best] + slack < potential[j])) return -1;
  }
  return best;
}

// Of each candidate, Σ weight·min(sq_dist, squared distance to it).
// in may_gain (n,): whether some candidate may be nearer to the row than sq_dist says
std::vector<double> potentials(const Rows& rows, const Sites& candidates, const double* sq_dist, int n_threads,
                               const std::vector<char>& may_gain) {
  const int64_t k = candidates.k;
  ClusterTree tree(rows.first_block, rows.first_block + rows.n_blocks());
  Blocks(rows.n_blocks()).run(n_threads, [&](Worker& worker) {
    Scratch scratch;
    double gap[PANEL];
    for (int64_t b; (b = worker.next()) >= 0;) {
      auto sums = fresh_sums(tree, rows.buffers(), 1, k);
      double* sum = sums->records() + sums->record_of(0);
      for (int64_t i = b * BLOCK; i < std::min(rows.n, (b + 1) * BLOCK); ++i) {
        const double w = rows.weight(i), own = sq_dist[i];
        if (!may_gain[i]) {
          for (int64_t j = 0; j < k; ++j) sum[j] += w * own;
          continue;
        }
        rows.focus(i, scratch);
        for (int64_t p = 0; p < candidates.n_panels(); ++p) {
          rows.sq_dist_panel(scratch, candidates, p, gap);
          for (int64_t j = p * PANEL; j < std::min(k, (p + 1) * PANEL); ++j)
            sum[j] += w * std::min(own, gap[j - p * PANEL]);
        }
      }
      tree.put({0, rows.first_block + b}, std::move(sums));
    }
  });
  std::vector<double> potential(k);
  finish(tree, {}, 1, k, n_threads, [&](int64_t, int64_t, const double* sum) { std::copy_n(sum, k, potential.data()); });
  return potential;
}

}  // namespace

void approach(const Rows& rows, const Sites& site, int n_threads, double* sq_dist) {
  for_tiles(0, rows.n, n_threads, [&](Scratch&, int64_t begin, int64_t end) {
    const int32_t only[TILE] = {};
    double gap[TILE];
    rows.sq_dists({nullptr, begin}, end - begin, site, only, gap);
    for (int64_t i = begin; i < end; ++i) sq_dist[i] = std::min(sq_dist[i], gap[i - begin]);
  });
}

int64_t best_candidate(const Rows& rows, const Sites& candidates, const double* sq_dist, int n_threads) {
  std::vector<char> may_gain(rows.n, candidates.k > PANEL);
  const int64_t guess = clear_winner(rows, candidates, sq_dist, n_threads, may_gain.data());
  if (guess >= 0) return guess;
  const std::vector<double> potential = potentials(rows, candidates, sq_dist, n_threads, may_gain);
  return std::min_element(potential.begin(), potential.end()) - potential.begin();
}

}  // namespace kfree
