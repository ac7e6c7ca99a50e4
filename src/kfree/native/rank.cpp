// One source, compiled once per instruction set (CMake sets KFREE_RANKER, KFREE_VECTOR_BYTES and KFREE_GROUP).
// Multiplications and additions may fuse here, and numbers are taken to be finite: outside float32's range nobody
// looks at the answer. No std templates: their weak symbols would be shared between the copies, and the linker could
// keep one that this machine cannot run.
#include "rank.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#if !defined(__GNUC__)
#error "kfree needs GCC or Clang: the kernels use their vector types"
#endif

namespace kfree {
namespace {

constexpr int LANES = KFREE_VECTOR_BYTES / 4;
constexpr int VECTORS = PANEL / LANES;
constexpr int GROUP = KFREE_GROUP;
// 32 KiB: as much as the smallest first-level caches hold, half of the larger ones.
constexpr int64_t CACHED_FLOATS = 8192;
static_assert(PANEL % LANES == 0 && TILE % GROUP == 0, "tiles must divide evenly");

typedef float Floats __attribute__((vector_size(KFREE_VECTOR_BYTES)));
typedef int32_t Ints __attribute__((vector_size(KFREE_VECTOR_BYTES)));
typedef float Loaded __attribute__((vector_size(KFREE_VECTOR_BYTES), aligned(4), may_alias));

inline Floats load(const float* p) { return *reinterpret_cast<const Loaded*>(p); }
inline void store(float* p, Floats values) { *reinterpret_cast<Loaded*>(p) = values; }
inline Floats spread(float value) { return value - Floats{}; }
template <class F>
inline F lower(F a, F b) {
  return a < b ? a : b;
}
template <class F>
inline F higher(F a, F b) {
  return a < b ? b : a;
}

// Four numbers, whatever the registers hold: what the sites of a list are ranked by.
typedef float Quad __attribute__((vector_size(16)));
typedef int32_t QuadInts __attribute__((vector_size(16)));
typedef float LoadedQuad __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t LoadedQuadInts __attribute__((vector_size(16), aligned(4), may_alias));
static_assert(LISTED_AT_ONCE == 4, "a quad holds the sums of four sites");

// The sum of each of four quads.
inline Quad sums_within(Quad a, Quad b, Quad c, Quad d) {
#if defined(__aarch64__)
  return vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d));
#else
  const Quad ab = __builtin_shuffle(a, b, QuadInts{0, 4, 2, 6}) + __builtin_shuffle(a, b, QuadInts{1, 5, 3, 7});
  const Quad cd = __builtin_shuffle(c, d, QuadInts{0, 4, 2, 6}) + __builtin_shuffle(c, d, QuadInts{1, 5, 3, 7});
  return __builtin_shuffle(ab, cd, QuadInts{0, 1, 4, 5}) + __builtin_shuffle(ab, cd, QuadInts{2, 3, 6, 7});
#endif
}

typedef Floats Sums[GROUP][VECTORS];

// Minus the scores of one group of rows and the sites of one panel.
inline void sum_panel(const float* z, int64_t d, const float* panel, const float* half_norm, Sums& sum) {
  // Starting from the norm saves a subtraction at the end.
  for (int v = 0; v < VECTORS; ++v) {
    const Floats norm = load(half_norm + v * LANES);
    for (int r = 0; r < GROUP; ++r) sum[r][v] = -norm;
  }
  for (int64_t t = 0; t < d; ++t) {
    Floats sites[VECTORS];
    for (int v = 0; v < VECTORS; ++v) sites[v] = load(panel + t * PANEL + v * LANES);
#if defined(__aarch64__)
    // One load for four rows; the multiplication picks its lane.
    static_assert(GROUP == LANES, "a group of rows fills a register");
    const Floats rows = load(z + t * GROUP);
#else
    const float* rows = z + t * GROUP;
#endif
    for (int r = 0; r < GROUP; ++r)
      for (int v = 0; v < VECTORS; ++v) sum[r][v] += rows[r] * sites[v];
  }
}

// The two highest sums seen by each lane of one row, and whose the highest was.
template <class Floats, class Ints>
struct Leaders {
  Floats best, second;
  Ints index;

  void offer(Floats sum, Ints site) {
    const Ints better = sum > best;
    second = higher(second, lower(best, sum));
    best = higher(best, sum);
    index = better ? site : index;
  }

  // Across lanes a tie goes to the smaller site number, which is the older site.
  void finish(float* best_score, float* second_score, int32_t* winning_site) const {
    constexpr int N = sizeof(Floats) / sizeof(float);
    int winner = 0;
    for (int lane = 1; lane < N; ++lane) {
      const bool better = best[lane] > best[winner];
      const bool older = best[lane] == best[winner] && index[lane] < index[winner];
      if (better || older) winner = lane;
    }
    float runner_up = second[winner];
    for (int lane = 0; lane < N; ++lane)
      if (lane != winner && best[lane] > runner_up) runner_up = best[lane];
    *best_score = -best[winner];
    *second_score = -runner_up;
    *winning_site = index[winner];
  }
};

void rank(const float* z, int n_rows, int64_t d, const float* panels, const float* half_norm, int64_t n_panels,
          float* best, float* second, int32_t* index) {
  const Floats worst = spread(-FARTHEST);
  Ints lane_number;
  for (int lane = 0; lane < LANES; ++lane) lane_number[lane] = lane;
  Leaders<Floats, Ints> leaders[TILE];
  for (Leaders<Floats, Ints>& row : leaders) row = {worst, worst, lane_number};
  // As many panels at a time as stay in the first-level cache while the rows of the tile pass by.
  int64_t chunk = CACHED_FLOATS / (d * PANEL);
  if (chunk < 1) chunk = 1;
  for (int64_t p0 = 0; p0 < n_panels; p0 += chunk) {
    const int64_t p1 = p0 + chunk < n_panels ? p0 + chunk : n_panels;
    for (int r = 0; r < n_rows; r += GROUP)
      for (int64_t p = p0; p < p1; ++p) {
        Sums sum;
        sum_panel(z + r * d, d, panels + p * d * PANEL, half_norm + p * PANEL, sum);
        for (int v = 0; v < VECTORS; ++v) {
          const Ints site = lane_number + static_cast<int32_t>(p * PANEL + v * LANES);
          for (int i = 0; i < GROUP; ++i) leaders[r + i].offer(sum[i][v], site);
        }
      }
  }
  for (int r = 0; r < n_rows; ++r) leaders[r].finish(best + r, second + r, index + r);
}

void score(const float* z, int n_rows, int64_t d, const float* panel, const float* half_norm, float* score) {
  for (int r = 0; r < n_rows; r += GROUP) {
    Sums sum;
    sum_panel(z + r * d, d, panel, half_norm, sum);
    for (int i = 0; i < GROUP; ++i)
      for (int v = 0; v < VECTORS; ++v) store(score + (r + i) * PANEL + v * LANES, -sum[i][v]);
  }
}

// W: the width where it is known when this is compiled, else 0.
template <int64_t W>
void rank_list(const float* z, int64_t any_width, const float* table, const int32_t* list, int64_t n, float* best,
               float* second, int32_t* index) {
  const int64_t width = W > 0 ? W : any_width;
  const Quad worst = -FARTHEST - Quad{};
  Leaders<Quad, QuadInts> leaders = {worst, worst, QuadInts{} + list[0]};
  for (int64_t i = 0; i < n; i += 4) {
    const float* site[4];
    Quad sum[4] = {};
    for (int s = 0; s < 4; ++s) site[s] = table + list[i + s] * width;
    for (int64_t t = 0; t < width; t += 4) {
      const Quad row = *reinterpret_cast<const LoadedQuad*>(z + t);
      for (int s = 0; s < 4; ++s) sum[s] += row * *reinterpret_cast<const LoadedQuad*>(site[s] + t);
    }
    const QuadInts sites = *reinterpret_cast<const LoadedQuadInts*>(list + i);
    leaders.offer(sums_within(sum[0], sum[1], sum[2], sum[3]), sites);
  }
  leaders.finish(best, second, index);
}

void rank_listed(const float* z, int64_t width, const float* table, const int32_t* list, int64_t n, float* best,
                 float* second, int32_t* index) {
  switch (width) {
    case 4: return rank_list<4>(z, width, table, list, n, best, second, index);
    case 8: return rank_list<8>(z, width, table, list, n, best, second, index);
    case 20: return rank_list<20>(z, width, table, list, n, best, second, index);
    default: return rank_list<0>(z, width, table, list, n, best, second, index);
  }
}

}  // namespace

const Ranker KFREE_RANKER = {GROUP, rank, score, rank_listed};

}  // namespace kfree
