// One source, compiled once per instruction set (CMake sets KFREE_RANK, KFREE_VECTOR_BYTES and KFREE_TILE_ROWS).
// Multiplications and additions may fuse here. No std templates: their weak symbols would be shared between
// the copies, and the linker could keep one that this machine cannot run.
#include "rank.hpp"

#if !defined(__GNUC__)
#error "kfree needs GCC or Clang: the kernels use their vector types"
#endif

namespace kfree {
namespace {

constexpr int LANES = KFREE_VECTOR_BYTES / 4;
constexpr int VECTORS = PANEL / LANES;
constexpr int ROWS = KFREE_TILE_ROWS;
static_assert(PANEL % LANES == 0 && TILE % ROWS == 0, "tiles must divide evenly");

typedef float Floats __attribute__((vector_size(KFREE_VECTOR_BYTES)));
typedef int32_t Ints __attribute__((vector_size(KFREE_VECTOR_BYTES)));
typedef float Loaded __attribute__((vector_size(KFREE_VECTOR_BYTES), aligned(4), may_alias));

inline Floats load(const float* p) { return *reinterpret_cast<const Loaded*>(p); }
inline Floats spread(float value) { return value - Floats{}; }

// The two lowest scores seen by each lane of one row, and whose the lowest was.
struct Leaders {
  Floats best, second;
  Ints index;
};

inline void offer(Leaders& row, Floats score, Ints site) {
  const Ints better = score < row.best;
  const Floats loser = better ? row.best : score;
  row.second = loser < row.second ? loser : row.second;
  row.best = better ? score : row.best;
  row.index = better ? site : row.index;
}

// Across lanes a tie goes to the smaller site number, which is the older site.
inline void finish(const Leaders& row, float* best, float* second, int32_t* index) {
  int winner = 0;
  for (int lane = 1; lane < LANES; ++lane) {
    const bool lower = row.best[lane] < row.best[winner];
    const bool older = row.best[lane] == row.best[winner] && row.index[lane] < row.index[winner];
    if (lower || older) winner = lane;
  }
  float runner_up = row.second[winner];
  for (int lane = 0; lane < LANES; ++lane)
    if (lane != winner && row.best[lane] < runner_up) runner_up = row.best[lane];
  *best = row.best[winner];
  *second = runner_up;
  *index = row.index[winner];
}

}  // namespace

void KFREE_RANK(const float* z, int n_rows, int64_t d, const float* panels, const float* half_norm,
                int64_t n_panels, float* best, float* second, int32_t* index) {
  const Floats infinity = spread(__builtin_inff());
  Ints lane_number;
  for (int lane = 0; lane < LANES; ++lane) lane_number[lane] = lane;

  for (int r0 = 0; r0 < n_rows; r0 += ROWS) {
    const float* tile = z + r0 * d;
    Leaders leaders[ROWS];
    for (Leaders& row : leaders) row = {infinity, infinity, lane_number};
    for (int64_t p = 0; p < n_panels; ++p) {
      const float* panel = panels + p * d * PANEL;
      Floats dot[ROWS][VECTORS] = {};
      for (int64_t t = 0; t < d; ++t)
        for (int v = 0; v < VECTORS; ++v) {
          const Floats sites = load(panel + t * PANEL + v * LANES);
          for (int r = 0; r < ROWS; ++r) dot[r][v] += tile[r * d + t] * sites;
        }
      for (int v = 0; v < VECTORS; ++v) {
        const int64_t first = p * PANEL + v * LANES;
        const Floats norm = load(half_norm + first);
        const Ints site = lane_number + static_cast<int32_t>(first);
        for (int r = 0; r < ROWS; ++r) offer(leaders[r], norm - dot[r][v], site);
      }
    }
    for (int r = 0; r < ROWS; ++r) finish(leaders[r], best + r0 + r, second + r0 + r, index + r0 + r);
  }
}

}  // namespace kfree
