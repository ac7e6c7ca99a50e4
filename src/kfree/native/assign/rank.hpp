// The ranking kernels: which site is nearest and by how much, in float32.
// A fast approximation with a proven error bound; exact.hpp decides where two scores are within it.
#pragma once
#include <cstdint>

namespace kfree {

struct Int8Kernel;
struct DenseKernels;

// Sites are packed in panels of this many, coordinate by coordinate, for every instruction set.
constexpr int PANEL = 16;
// Rows are ranked in tiles of up to this many.
constexpr int TILE = 48;
// Rows of so few columns may be ranked with a row in each lane; of up to TINY_COLUMNS by every instruction set.
constexpr int64_t NARROW_COLUMNS = 8, TINY_COLUMNS = 3;
// The half norm of a place in a panel that holds no site: finite, so that the kernels need not handle infinities.
constexpr float FARTHEST = 3e38f;

// score = half the squared norm of the site − row · site: orders sites as the squared distance does. The half norm is
// taken times `lowered`, a little less than one: see exact::RankError.
// in  z (TILE/group, d, group) float32, n_rows ≤ TILE of them wanted; panels (n_panels, d, PANEL);
//     half_norm (n_panels·PANEL,)
struct Ranker {
  // Rows whose coordinates lie together in z; divides TILE.
  int group;
  // out best, second (TILE,) the two lowest scores; index (TILE,) the site of the lowest, any one on ties:
  // their order is decided canonically
  void (*rank)(const float* z, int n_rows, int64_t d, const float* panels, const float* half_norm, float lowered,
               int64_t n_sites, float* best, float* second, int32_t* index);
  // Up to how many columns the next function takes: TINY_COLUMNS, or NARROW_COLUMNS where so many registers stay free.
  int64_t narrow_columns;
  // The same for rows of so few columns, one at least, which lie column by column: z (d, TILE).
  void (*rank_narrow)(const float* z, int n_rows, int64_t d, const float* panels, const float* half_norm, float lowered,
                      int64_t n_sites, float* best, float* second, int32_t* index);
  // For a single panel. out score (TILE, PANEL)
  void (*score)(const float* z, int n_rows, int64_t d, const float* panel, const float* half_norm, float lowered,
                float* score);
  // Few sites of a panel, rows column by column: z (d, TILE). out score (PANEL, TILE), valid for n_sites ≤ PANEL of them
  void (*score_few)(const float* z, int64_t d, const float* panel, const float* half_norm, int64_t n_sites, float* score);
  // Kernels of the int8 prefilter (int8/kernel.hpp), or null.
  const Int8Kernel* int8;
  // Loops over rows for the same processors.
  const DenseKernels& dense;
};

extern const Ranker ranker_baseline;
#if defined(KFREE_X86)
extern const Ranker ranker_avx2, ranker_avx512;
#endif
#if defined(KFREE_AVXVNNI)
extern const Ranker ranker_avxvnni;
#endif
#if defined(KFREE_AVX512VNNI)
extern const Ranker ranker_avx512vnni;
#endif
#if defined(KFREE_DOTPROD)
extern const Ranker ranker_dotprod;
#endif

}  // namespace kfree
