// Loops over dense rows, in canonical arithmetic (core/exact.hpp): the same bits on every instruction set.
#pragma once
#include <cstdint>

#include "rows/row_set.hpp"

namespace kfree {

// How dense rows lie: X (n, d), strides counted in values. Canonical coordinates are (x − anchor) − shift or, where there
// are lengths, x divided by the row's length.
template <class T>
struct DenseData {
  const T* X;
  int64_t d, row_stride, column_stride;
  const double *anchor, *shift;  // (d,)
  const double* length;          // (n,) or null
};

template <class T>
struct DenseLoops {
  // out z (d,)
  void (*copy)(const DenseData<T>& data, int64_t row, double* z);
  // As Rows::add and Rows::sq_dists. in centre (·, d)
  void (*add)(const DenseData<T>& data, RowSet rows, int64_t n_rows, const double* weight, const double* sq_dist,
              const int32_t* record, double* records);
  void (*sq_dists)(const DenseData<T>& data, RowSet rows, int64_t n_rows, const double* centre, const int32_t* label,
                   double* sq_dist);
  // Puts weight·z of a row into sum (d,), as if added to zeros: −0.0 becomes 0.0; the second adds it.
  void (*set_row)(const DenseData<T>& data, int64_t row, double weight, double* sum);
  void (*add_row)(const DenseData<T>& data, int64_t row, double weight, double* sum);
  // For up to TINY_COLUMNS columns and so few sites that ranking would not save time: the nearest site, the first one on
  // ties, by all canonical distances. out label, sq_dist (n_rows,); second (n_rows,), the squared distance to the next
  void (*nearest_of_few)(const DenseData<T>& data, RowSet rows, int n_rows, const double* centre, int64_t n_sites,
                         int32_t* label, double* sq_dist, double* second);
  // out z32 (⌈n_rows/group⌉, d, group): rows as a ranking kernel wants them; sq_norm (n_rows,), added in any order.
  // `group` is that of this instruction set, or TILE.
  void (*pack)(const DenseData<T>& data, RowSet rows, int n_rows, int group, float* z32, double* sq_norm);
};

// What a ranking kernel found for a tile of rows, and how far its scores may be off (exact::RankError).
struct RankedTile {
  const float *best, *second;
  const int32_t* index;
  const double* sq_norm;       // (n_rows,) of the rows
  const double* site_sq_norm;  // (k,)
  double row_factor, row_least, most_sq_norm, site_factor;
};

// Scores of a tile by a few candidates, and what its rows have now (Rows::add_potentials).
struct ScoredTile {
  const float* score;  // (candidates, TILE)
  const double *sq_norm, *weight, *sq_dist;  // (n_rows,); weights may be null for ones
  // By how much a squared distance may be off: factor·|row|² + least where |row|² is less than most, else infinite.
  double factor, least, most_sq_norm;
};

struct DenseKernels {
  // Scored::decided and Scored::second_sq_dist for n_rows ≤ TILE rows. All arrays have room for TILE.
  // out error: the rows' shares; decided: 1 or 0; second_sq_dist. Returns how many rows are decided.
  int (*decide)(const RankedTile& ranked, int n_rows, double* error, int64_t* decided, double* second_sq_dist);
  // Σ_t (z_t − c_t)² to n of the sites, added in any order, which for many columns takes a fourth of the time. in z (d,),
  // centre (·, d), some (n,); out sq_dist (n,)
  void (*sq_dists_in_any_order)(const double* z, int64_t d, const double* centre, const int32_t* some, int n,
                                double* sq_dist);
  // Rows::add_potentials for n_rows ≤ TILE rows.
  void (*add_potentials)(const ScoredTile& tile, int n_rows, int64_t n_candidates, double* potential, double* error,
                         char* may_gain);
  // exact::sq_dist_panel: as many sites at a time as a register has lanes.
  void (*sq_dist_panel)(const double* z, const double* panel, int64_t d, double* sq_dist);
  DenseLoops<float> loops32;
  DenseLoops<double> loops64;
};

}  // namespace kfree
