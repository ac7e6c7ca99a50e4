#include "assign/int8/prefilter.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/exact.hpp"

namespace kfree {
namespace {

// Rows of so many columns are compared by sums in any order first.
constexpr int64_t WIDE = 64;

// A quantised tile, ranked: the two lowest scores of each row, and the site of the lowest. The quantised rows themselves
// are left in scratch.quantized.
struct RankedTile {
  QuantizedTile row;
  int16_t best[TILE], second[TILE];
  int32_t winner[TILE];

  RankedTile(const Rows& rows, RowSet tile, int n_rows, const QuantizedSites& quantized, Scratch& scratch) {
    rows.quantize(tile, n_rows, quantized, scratch, row);
    scratch.lowest.resize(quantized.n_left());
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

// The same without a canonical distance to the winner: −1 if rounding may decide. The next one's is not canonical.
int32_t clear_winner(const Rows& rows, int64_t row, const Sites& sites, const int32_t* some, int n, Scratch& scratch,
                     double& second_sq_dist) {
  double sq_dist[MOST_CANDIDATES];
  rows.sq_dists_in_any_order(row, sites, some, n, scratch, sq_dist);
  const int best = static_cast<int>(std::min_element(sq_dist, sq_dist + n) - sq_dist);
  second_sq_dist = std::numeric_limits<double>::infinity();
  for (int c = 0; c < n; ++c) {
    if (c == best) continue;
    if (!exact::surely_less(sq_dist[best], sq_dist[c], rows.d)) return -1;
    second_sq_dist = std::min(second_sq_dist, sq_dist[c]);
  }
  return some[best];
}

}  // namespace

int nearest_by_prefilter(const Rows& rows, RowSet tile, int n_rows, const Sites& sites, const QuantizedSites& quantized,
                        Scratch& scratch, int32_t* label, double* sq_dist, double* lower, Known known) {
  const RankedTile ranked(rows, tile, n_rows, quantized, scratch);
  int8_t* q = scratch.quantized.data();
  int16_t limit[TILE];
  int32_t open[TILE];
  int n_open = 0;
  for (int i = 0; i < n_rows; ++i) {
    label[i] = ranked.winner[i];
    lower[i] = quantized.lower(ranked.row[i], ranked.second[i]);
    const double upper = quantized.upper(ranked.row[i], ranked.best[i], label[i]);
    if (lower[i] > upper) continue;  // not if one of them is not a number
    // A distance that is known decides more. The limit does not use it: the bound that is kept would be no larger.
    if (known.label && known.label[i] == label[i] && lower[i] > quantized.upper(known.sq_dist[i])) continue;
    // Undecided rows are moved together for a second prefilter.
    std::copy_n(q + i * quantized.stride(), quantized.stride(), q + n_open * quantized.stride());
    limit[n_open] = quantized.limit(ranked.row[i], upper);
    open[n_open++] = i;
  }
  int32_t n_candidates[TILE];
  scratch.candidate.resize(TILE * MOST_CANDIDATES);
  quantized.list(q, n_open, limit, open, scratch.lowest.data(), scratch.candidate.data(), n_candidates);
  const auto candidates = [&](int o) { return scratch.candidate.data() + o * MOST_CANDIDATES; };
  const auto keep_lower = [&](int o, double second_sq_dist) {
    lower[open[o]] = std::min(exact::safe_dist(second_sq_dist, rows.d), quantized.lower(ranked.row[open[o]], limit[o]));
  };
  int close[TILE], n_close = 0;
  for (int o = 0; o < n_open; ++o) {
    int32_t& winner = label[open[o]] = -1;
    if (limit[o] == HIGHEST_SCORE || n_candidates[o] > MOST_CANDIDATES) continue;
    double second_sq_dist;
    if (rows.d >= WIDE)
      winner = clear_winner(rows, tile[open[o]], sites, candidates(o), n_candidates[o], scratch, second_sq_dist);
    if (winner >= 0)
      keep_lower(o, second_sq_dist);
    else
      close[n_close++] = o;
  }
  if (sq_dist) {
    int32_t site[TILE];
    for (int i = 0; i < n_rows; ++i) site[i] = std::max(label[i], 0);  // any site will do for rows that have none yet
    rows.sq_dists_unless(known, tile, n_rows, sites, site, sq_dist);
  }
  for (int c = 0; c < n_close; ++c) {
    const int o = close[c], i = open[o];
    double best_sq_dist, second_sq_dist;
    const Known own = known.label ? Known{known.label + i, known.sq_dist + i} : Known{};
    compare(rows, tile[i], sites, candidates(o), n_candidates[o], own, label[i], best_sq_dist, second_sq_dist);
    if (sq_dist) sq_dist[i] = best_sq_dist;
    keep_lower(o, second_sq_dist);
  }
  return n_open;
}

void lower_by_prefilter(const Rows& rows, RowSet tile, int n_rows, const Subset& some, const QuantizedSites& quantized,
                       const int32_t* label, Scratch& scratch, double* lower) {
  const RankedTile ranked(rows, tile, n_rows, quantized, scratch);
  for (int i = 0; i < n_rows; ++i) {
    const bool own = some.id[ranked.winner[i]] == label[i];
    lower[i] = quantized.lower(ranked.row[i], own ? ranked.second[i] : ranked.best[i]);
  }
}

}  // namespace kfree
