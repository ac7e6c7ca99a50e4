#include "assign/int8/prefilter.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/exact.hpp"

namespace kfree {
namespace {

// A quantised tile; the rows themselves are left in scratch.quantized.
struct Seen {
  QuantizedRow row[TILE];
  int16_t best[TILE], second[TILE];
  int32_t winner[TILE];

  Seen(const Rows& rows, RowSet tile, int n_rows, const QuantizedSites& quantized, Scratch& scratch) {
    scratch.quantized.resize(TILE * quantized.stride());
    for (int i = 0; i < n_rows; ++i)
      row[i] = rows.quantize(tile[i], quantized, scratch, scratch.quantized.data() + i * quantized.stride());
    quantized.rank(scratch.quantized.data(), n_rows, best, second, winner);
  }
};

// The canonical winner among some sites, given in ascending order. out label, sq_dist; second_sq_dist: the next one's
void compare(const Rows& rows, int64_t row, const Sites& sites, const int32_t* some, int n, int32_t& label,
             double& sq_dist, double& second_sq_dist) {
  int64_t repeated[MOST_CANDIDATES];
  double gap[MOST_CANDIDATES];
  std::fill_n(repeated, n, row);
  rows.sq_dists({repeated, 0}, n, sites, some, gap);
  sq_dist = second_sq_dist = std::numeric_limits<double>::infinity();
  for (int c = 0; c < n; ++c)
    if (gap[c] < sq_dist) {
      second_sq_dist = sq_dist;
      sq_dist = gap[c];
      label = some[c];
    } else {
      second_sq_dist = std::min(second_sq_dist, gap[c]);
    }
}

}  // namespace

int nearest_by_prefilter(const Rows& rows, RowSet tile, int n_rows, const Sites& sites, const QuantizedSites& quantized,
                        Scratch& scratch, int32_t* label, double* sq_dist, double* lower, Known known) {
  const Seen seen(rows, tile, n_rows, quantized, scratch);
  int8_t* q = scratch.quantized.data();
  int16_t limit[TILE];
  int open[TILE], n_open = 0;
  for (int i = 0; i < n_rows; ++i) {
    label[i] = seen.winner[i];
    lower[i] = quantized.lower(seen.row[i], seen.second[i]);
    const double upper = quantized.upper(seen.row[i], seen.best[i], label[i]);
    if (lower[i] > upper) continue;  // not if one of them is not a number
    // Undecided rows are moved together for a second prefilter.
    std::copy_n(q + i * quantized.stride(), quantized.stride(), q + n_open * quantized.stride());
    limit[n_open] = quantized.limit(seen.row[i], upper);
    open[n_open++] = i;
  }
  rows.sq_dists_unless(known, tile, n_rows, sites, label, sq_dist);
  int32_t n_candidates[TILE];
  scratch.candidate.resize(TILE * MOST_CANDIDATES);
  quantized.list(q, n_open, limit, scratch.candidate.data(), n_candidates);
  for (int o = 0; o < n_open; ++o) {
    const int i = open[o];
    label[i] = -1;
    if (limit[o] == HIGHEST_SCORE || n_candidates[o] > MOST_CANDIDATES) continue;
    double second_sq_dist;
    compare(rows, tile[i], sites, scratch.candidate.data() + o * MOST_CANDIDATES, n_candidates[o], label[i],
            sq_dist[i], second_sq_dist);
    lower[i] = std::min(exact::safe_dist(second_sq_dist, rows.d), quantized.lower(seen.row[i], limit[o]));
  }
  return n_open;
}

void lower_by_prefilter(const Rows& rows, RowSet tile, int n_rows, const Subset& some, const QuantizedSites& quantized,
                       const int32_t* label, Scratch& scratch, double* lower) {
  const Seen seen(rows, tile, n_rows, quantized, scratch);
  for (int i = 0; i < n_rows; ++i) {
    const bool own = some.id[seen.winner[i]] == label[i];
    lower[i] = quantized.lower(seen.row[i], own ? seen.second[i] : seen.best[i]);
  }
}

}  // namespace kfree
