#include "assign/int8/prefilter.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/exact.hpp"

namespace kfree {
namespace {

// A quantised tile; the rows themselves are left in scratch.quantized.
struct Seen {
  QuantizedTile row;
  int16_t best[TILE], second[TILE];
  int32_t winner[TILE];

  Seen(const Rows& rows, RowSet tile, int n_rows, const QuantizedSites& quantized, Scratch& scratch) {
    rows.quantize(tile, n_rows, quantized, scratch, row);
    scratch.lowest.resize(TILE * quantized.n_panels());
    quantized.rank(scratch.quantized.data(), n_rows, best, second, winner, scratch.lowest.data());
  }
};

// The canonical winner among some sites, given in ascending order. in known_label, known_sq_dist (TILE,), the same for all
// out label, sq_dist; second_sq_dist: the next one's
void compare(const Rows& rows, int64_t row, const Sites& sites, const int32_t* some, int n, Known known,
             int32_t& label, double& sq_dist, double& second_sq_dist) {
  int64_t repeated[MOST_CANDIDATES];
  int32_t known_label[MOST_CANDIDATES];
  double gap[MOST_CANDIDATES], known_sq_dist[MOST_CANDIDATES];
  std::fill_n(repeated, n, row);
  if (known.label) {
    std::fill_n(known_label, n, *known.label);
    std::fill_n(known_sq_dist, n, *known.sq_dist);
    known = {known_label, known_sq_dist};
  }
  rows.sq_dists_unless(known, {repeated, 0}, n, sites, some, gap);
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
  int32_t open[TILE];
  int n_open = 0;
  for (int i = 0; i < n_rows; ++i) {
    label[i] = seen.winner[i];
    lower[i] = quantized.lower(seen.row[i], seen.second[i]);
    const double upper = quantized.upper(seen.row[i], seen.best[i], label[i]);
    if (lower[i] > upper) continue;  // not if one of them is not a number
    // A distance that is known decides more. The limit does not use it: the bound that is kept would be no larger.
    if (known.label && known.label[i] == label[i] && lower[i] > quantized.upper(known.sq_dist[i])) continue;
    // Undecided rows are moved together for a second prefilter.
    std::copy_n(q + i * quantized.stride(), quantized.stride(), q + n_open * quantized.stride());
    limit[n_open] = quantized.limit(seen.row[i], upper);
    open[n_open++] = i;
  }
  if (sq_dist) rows.sq_dists_unless(known, tile, n_rows, sites, label, sq_dist);
  int32_t n_candidates[TILE];
  scratch.candidate.resize(TILE * MOST_CANDIDATES);
  quantized.list(q, n_open, limit, open, scratch.lowest.data(), scratch.candidate.data(), n_candidates);
  for (int o = 0; o < n_open; ++o) {
    const int i = open[o];
    label[i] = -1;
    if (limit[o] == HIGHEST_SCORE || n_candidates[o] > MOST_CANDIDATES) continue;
    double best_sq_dist, second_sq_dist;
    const Known own = known.label ? Known{known.label + i, known.sq_dist + i} : Known{};
    compare(rows, tile[i], sites, scratch.candidate.data() + o * MOST_CANDIDATES, n_candidates[o], own, label[i],
            best_sq_dist, second_sq_dist);
    if (sq_dist) sq_dist[i] = best_sq_dist;
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
