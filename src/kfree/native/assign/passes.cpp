#include "assign/passes.hpp"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>

#include "core/parallel.hpp"
#include "rows/tiles.hpp"

namespace kfree {
namespace {

// Labels come from outside, as those of a damaged model: what is no cluster raises before anything is written.
void require_labels(const int32_t* label, int64_t n, int64_t k) {
  uint32_t largest = 0;  // a negative label is larger than any cluster's
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<uint32_t>(label[i]));
  if (n > 0 && largest >= k)
    throw std::invalid_argument("rows of X have labels beyond " + std::to_string(k) + " clusters. Fit the model again.");
}

// The output function of SplitMix64 (Steele, Lea & Flood 2014).
uint64_t hashed(uint64_t row) {
  uint64_t z = (row + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

void accumulate(const Rows& rows, const int32_t* label, const double* sq_dist, int n_threads, StatsOut out) {
  require_labels(label, rows.n, out.k);
  Stats stats(rows, out, n_threads);
  stats.add_all(label, sq_dist);
  stats.finish();
}

void fingerprints(const Rows& rows, const int32_t* label, int64_t k, int n_threads, uint64_t* sum) {
  std::fill_n(sum, k, uint64_t{0});
  const auto first_row = static_cast<uint64_t>(rows.first_block * BLOCK);
  std::mutex adding;
  Blocks(n_blocks(rows.n, BLOCK)).run(n_threads, [&](Worker& worker) {
    std::vector<uint64_t> own(k, 0);
    for (int64_t b; (b = worker.next()) >= 0;) {
      const int64_t begin = b * BLOCK, end = std::min(rows.n, (b + 1) * BLOCK);
      require_labels(label + begin, end - begin, k);
      for (int64_t i = begin; i < end; ++i) own[label[i]] += hashed(first_row + i);
    }
    std::lock_guard lock(adding);
    for (int64_t j = 0; j < k; ++j) sum[j] += own[j];
  });
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
