// The ranking kernel: which site is nearest and by how much, in float32.
// A fast guess with a proven error; exact.hpp decides where the guess is too close to call.
#pragma once
#include <cstdint>

namespace kfree {

// Sites are packed in panels of this many, coordinate by coordinate, for every instruction set.
constexpr int PANEL = 16;
// Rows are ranked in tiles; kernels may read and write up to this many rows whatever the tile holds.
constexpr int TILE = 64;

// The half norm of a place in a panel that holds no site: finite, so that the kernels need not know infinities.
constexpr float FARTHEST = 3e38f;

// score = half the squared norm of the site − row · site: orders sites as the squared distance does.
// in  z (TILE, d) float32, n_rows ≤ TILE of them wanted; panels (n_panels, d, PANEL); half_norm (n_panels·PANEL,)
// out best, second (TILE,) the two lowest scores; index (TILE,) the site of the lowest, first-born on ties
using RankKernel = void (*)(const float* z, int n_rows, int64_t d, const float* panels, const float* half_norm,
                            int64_t n_panels, float* best, float* second, int32_t* index);

void rank_baseline(const float*, int, int64_t, const float*, const float*, int64_t, float*, float*, int32_t*);
#if defined(KFREE_X86)
void rank_avx2(const float*, int, int64_t, const float*, const float*, int64_t, float*, float*, int32_t*);
void rank_avx512(const float*, int, int64_t, const float*, const float*, int64_t, float*, float*, int32_t*);
#endif

}  // namespace kfree
