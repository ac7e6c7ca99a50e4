// The kernels of the int8 prefilter (quantized.hpp): rows and sites as bytes, ranked by dot products of bytes.
#pragma once
#include <cstdint>

#include "assign/rank.hpp"

namespace kfree {

// A row that the prefilter does not decide is compared with up to this many sites one by one.
constexpr int MOST_CANDIDATES = 16;
// Scores are shifted by so many bits to fit in 16. Rows of more columns than that allows are not prefiltered.
constexpr int LEAST_SHIFT = 2, MOST_SHIFT = 10;
// A score that means "or more".
constexpr int16_t HIGHEST_SCORE = 32767;

// Kernels of the prefilter; only some instruction sets have dot products of bytes.
struct Int8Kernel {
  // Sites lie in panels of `panel`, four coordinates of each together. Bytes q are at most `largest` in size; those of
  // rows are stored as q + bias, those of sites as −q.
  int panel, largest, bias;
  // So many columns are taken at once.
  int columns;
  // For rows of fewer columns than `narrow_below`, the kernel that takes less time; null where there is no other.
  const Int8Kernel* narrow;
  int64_t narrow_below;
  // The prefilter pays from so many columns on, d, and from least_sites + least_values / d sites on: what it adds to each
  // row outweighs what it saves for each site, the more so the fewer the columns. benchmarks/choices.py measures it.
  int64_t least_columns, least_sites, least_values;
  // From so many columns on, and up to so many panels, `rank` leaves all scores to `list`: computing them again would take
  // longer than storing them, and those of a tile stay in a second-level cache.
  int64_t scored_columns, scored_panels;
  const Int8Kernel& for_rows_of(int64_t d) const { return narrow && d < narrow_below ? *narrow : *this; }
  // How many columns d coordinates take up. Those of sites that are added are zero.
  int64_t padded(int64_t d) const { return (d + columns - 1) / columns * columns; }
  // How many values `rank` leaves.
  int64_t n_left(int64_t d, int64_t n_panels) const {
    return TILE * n_panels * (d >= scored_columns && n_panels <= scored_panels ? panel : 1);
  }
  // out q (stride,): (z − centre)/step, rounded and no larger than `largest`, zeros after the first d, plus bias
  // Returns Σ (z − centre − step·q)², and Σ q² in sq_norm.
  float (*quantize)(const float* z, const float* centre, int64_t d, float step, int8_t* q, int64_t stride,
                  int32_t* sq_norm);
  // score = (half_norm + stored row · stored site) / 2^shift, rounded down, and HIGHEST_SCORE at most. half_norm: half
  //     the squared norm of the site + bias·Σ q of the site, so that score = (half the squared norm − row · site) / 2^shift
  // in  q (TILE, stride), n_rows ≤ TILE of them wanted; panels (n_panels, d/4, panel, 4), d as `padded` says;
  //     half_norm (n_panels·panel,)
  // One kernel for each shift, and at the end one for 16 columns.
  static constexpr int FOR_SIXTEEN = MOST_SHIFT - LEAST_SHIFT + 1;
  // out best, second (TILE,) the two lowest scores; index (TILE,) the site of the lowest, any one if they are equal;
  //     lowest (n_panels, TILE) or, where all scores are left, (n_panels, TILE, panel): what `list` may want to know about
  //     the same rows
  void (*rank[FOR_SIXTEEN + 1])(const int8_t* q, int64_t stride, int n_rows, int64_t d, const int8_t* panels,
                                const int32_t* half_norm, int64_t n_panels, int16_t* best, int16_t* second,
                                int32_t* index, int16_t* lowest);
  // For some of the rows that were ranked. in limit (TILE,); place (TILE,): where they were among those; lowest
  // out candidate (TILE, MOST_CANDIDATES), ascending: the sites with scores up to the limit; n_candidates (TILE,): how
  //     many they are, even if there was no room for all
  void (*list[FOR_SIXTEEN + 1])(const int8_t* q, int64_t stride, int n_rows, int64_t d, const int8_t* panels,
                                const int32_t* half_norm, int64_t n_panels, const int16_t* limit, const int32_t* place,
                                const int16_t* lowest, int32_t* candidate, int32_t* n_candidates);
};

#if defined(KFREE_X86)
extern const Int8Kernel int8_avx2, int8_avx512;
#endif
#if defined(KFREE_AVXVNNI)
extern const Int8Kernel int8_avxvnni;
#endif
#if defined(KFREE_AVX512VNNI)
extern const Int8Kernel int8_avx512vnni;
#endif
#if defined(KFREE_AMX)
extern const Int8Kernel int8_amx;
#endif
#if defined(KFREE_DOTPROD)
extern const Int8Kernel int8_dotprod;
#endif

}  // namespace kfree
