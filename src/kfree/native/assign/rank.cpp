// One source, compiled once per instruction set (CMake sets KFREE_RANKER, KFREE_INT8, KFREE_DENSE, KFREE_VECTOR_BYTES
// and KFREE_GROUP).
// Multiplications and additions may fuse here, and numbers are assumed to be finite: results outside float32's range
// are not used. No std templates: their weak symbols would be shared between the copies, and the linker could keep one
// that this machine cannot run.
#include "assign/int8/kernel.hpp"
#include "core/halves.hpp"

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
static_assert(PANEL % LANES == 0 && TILE % GROUP == 0 && TILE % LANES == 0, "tiles must divide evenly");

typedef float Floats __attribute__((vector_size(KFREE_VECTOR_BYTES)));
typedef int32_t Ints __attribute__((vector_size(KFREE_VECTOR_BYTES)));
typedef float Loaded __attribute__((vector_size(KFREE_VECTOR_BYTES), aligned(4), may_alias));

inline Floats load(const float* p) { return *reinterpret_cast<const Loaded*>(p); }
inline void store(float* p, Floats values) { *reinterpret_cast<Loaded*>(p) = values; }
inline Floats spread(float value) { return value - Floats{}; }
inline Floats lower(Floats a, Floats b) { return a < b ? a : b; }
inline Floats higher(Floats a, Floats b) { return a < b ? b : a; }

// Minus the scores of one group of rows and the first sites of one panel, N vectors of them.
template <int N>
inline void sum_panel(const float* z, int64_t d, const float* panel, const float* half_norm, float lowered,
                      Floats (&sum)[GROUP][N]) {
  // Starting from the norm saves a subtraction at the end.
  for (int v = 0; v < N; ++v) {
    const Floats norm = load(half_norm + v * LANES) * -lowered;
    for (int r = 0; r < GROUP; ++r) sum[r][v] = norm;
  }
  for (int64_t t = 0; t < d; ++t) {
    Floats sites[N];
    for (int v = 0; v < N; ++v) sites[v] = load(panel + t * PANEL + v * LANES);
#if defined(__aarch64__)
    // One load for four rows; the multiplication picks its lane.
    static_assert(GROUP == LANES, "a group of rows fills a register");
    const Floats rows = load(z + t * GROUP);
#else
    const float* rows = z + t * GROUP;
#endif
    for (int r = 0; r < GROUP; ++r)
      for (int v = 0; v < N; ++v) sum[r][v] += rows[r] * sites[v];
  }
}

// The two highest sums seen by each lane of one row, and whose the highest was.
struct Leaders {
  Floats best, second;
  Ints index;
};

inline void offer(Leaders& row, Floats sum, Ints site) {
  const Ints better = sum > row.best;
  row.second = higher(row.second, lower(row.best, sum));
  row.best = higher(row.best, sum);
  row.index = better ? site : row.index;
}

// Lane by lane.
inline Leaders joined(const Leaders& a, const Leaders& b) {
  const Ints better = b.best > a.best;
  return {higher(a.best, b.best), higher(higher(a.second, b.second), lower(a.best, b.best)), better ? b.index : a.index};
}

template <int STEP, bool HAVE>
inline Leaders lanes_of(const Leaders& x, const Leaders& y) {
  return {half_of<STEP, HAVE>(x.best, y.best), half_of<STEP, HAVE>(x.second, y.second),
          half_of<STEP, HAVE>(x.index, y.index)};
}

// Joins the lanes of LANES rows: rows that are STEP apart share a vector afterwards, until all share one, a lane each.
// In one row alone most lanes would be idle.
template <int STEP = 1>
inline void join_lanes(Leaders* rows) {
  if constexpr (STEP < LANES) {
    for (int r = 0; r < LANES; r += 2 * STEP)
      rows[r] = joined(lanes_of<STEP, false>(rows[r], rows[r + STEP]), lanes_of<STEP, true>(rows[r], rows[r + STEP]));
    join_lanes<2 * STEP>(rows);
  }
}

inline void put(const Leaders& rows, float* best, float* second, int32_t* index) {
  store(best, -rows.best);
  store(second, -rows.second);
  for (int lane = 0; lane < LANES; ++lane) index[lane] = rows.index[lane];
}

// One group of rows against the first N vectors of a panel; numbers are those of the sites in the first one.
template <int N>
inline void rank_panel(const float* z, int64_t d, const float* panel, const float* half_norm, float lowered, Ints numbers,
                       Leaders* leaders) {
  Floats sum[GROUP][N];
  sum_panel(z, d, panel, half_norm, lowered, sum);
  for (int v = 0; v < N; ++v, numbers += LANES)
    for (int r = 0; r < GROUP; ++r) offer(leaders[r], sum[r][v], numbers);
}

void rank(const float* z, int n_rows, int64_t d, const float* panels, const float* half_norm, float lowered,
          int64_t n_sites, float* best, float* second, int32_t* index) {
  const Floats worst = spread(-FARTHEST);
  Ints lane_number;
  for (int lane = 0; lane < LANES; ++lane) lane_number[lane] = lane;
  Leaders leaders[TILE];
  for (Leaders& row : leaders) row = {worst, worst, lane_number};
  // As many panels at a time as stay in the first-level cache while the rows of the tile pass by.
  int64_t chunk = CACHED_FLOATS / ((d > 0 ? d : 1) * PANEL);
  if (chunk < 1) chunk = 1;
  const int64_t n_panels = (n_sites + PANEL - 1) / PANEL;
  for (int64_t p0 = 0; p0 < n_panels; p0 += chunk) {
    const int64_t p1 = p0 + chunk < n_panels ? p0 + chunk : n_panels;
    for (int r = 0; r < n_rows; r += GROUP)
      for (int64_t p = p0; p < p1; ++p) {
        const auto ranked = [&](auto rank_some) {
          rank_some(z + r * d, d, panels + p * d * PANEL, half_norm + p * PANEL, lowered,
                    lane_number + static_cast<int32_t>(p * PANEL), leaders + r);
        };
        // The last panel may hold no more than half as many sites as it could.
        if (VECTORS > 1 && 2 * (n_sites - p * PANEL) <= PANEL)
          ranked(rank_panel<(VECTORS + 1) / 2>);
        else
          ranked(rank_panel<VECTORS>);
      }
  }
  for (int r = 0; r < n_rows; r += LANES) {
    join_lanes(leaders + r);
    put(leaders[r], best + r, second + r, index + r);
  }
}

// The same with a row in each lane: no lanes to compare at the end, which for few sites takes longer than ranking them.
// D columns; ABREAST vectors of rows, as many as stay in registers.
template <int D, int ABREAST>
void rank_columns(const float* z, int n_rows, const float* panels, const float* half_norm, float lowered,
                  int64_t n_sites, float* best, float* second, int32_t* index) {
  static_assert(TILE % (ABREAST * LANES) == 0, "tiles must divide evenly");
  for (int r = 0; r < n_rows; r += ABREAST * LANES) {
    Floats rows[D][ABREAST];
    for (int t = 0; t < D; ++t)
      for (int v = 0; v < ABREAST; ++v) rows[t][v] = load(z + t * TILE + r + v * LANES);
    Leaders leaders[ABREAST];
    for (Leaders& some : leaders) some = {spread(-FARTHEST), spread(-FARTHEST), Ints{}};
    Ints number = {};
    for (int64_t begin = 0; begin < n_sites; begin += PANEL, panels += D * PANEL) {
      const int n_here = n_sites - begin < PANEL ? static_cast<int>(n_sites - begin) : PANEL;
      for (int j = 0; j < n_here; ++j, number += 1) {
        const Floats norm = spread(half_norm[begin + j] * -lowered);
        for (int v = 0; v < ABREAST; ++v) {
          Floats sum = norm;
          for (int t = 0; t < D; ++t) sum += panels[t * PANEL + j] * rows[t][v];
          offer(leaders[v], sum, number);
        }
      }
    }
    panels -= (n_sites + PANEL - 1) / PANEL * (D * PANEL);
    for (int v = 0; v < ABREAST; ++v) {
      const int first = r + v * LANES;
      put(leaders[v], best + first, second + first, index + first);
    }
  }
}

constexpr int64_t COLUMNS = KFREE_VECTOR_BYTES >= 32 ? NARROW_COLUMNS : TINY_COLUMNS;
static_assert(NARROW_COLUMNS == 8 && TINY_COLUMNS == 3, "one case for each number of columns");

void rank_narrow(const float* z, int n_rows, int64_t d, const float* panels, const float* half_norm, float lowered,
                 int64_t n_sites, float* best, float* second, int32_t* index) {
  constexpr int FEW = KFREE_VECTOR_BYTES == 64 ? 3 : 2;
#if defined(__aarch64__)
  constexpr int MANY = 4;  // there are twice as many registers
#else
  constexpr int MANY = FEW;
#endif
  const auto ranked = [=](auto rank_some) {
    rank_some(z, n_rows, panels, half_norm, lowered, n_sites, best, second, index);
  };
  switch (d) {
    case 1: return ranked(rank_columns<1, MANY>);
    case 2: return ranked(rank_columns<2, MANY>);
    case 3: return ranked(rank_columns<3, FEW>);
  }
  // One vector of rows leaves registers for sums and leaders; processors that have wide ones overlap the next sites.
  if constexpr (COLUMNS == NARROW_COLUMNS) switch (d) {
      case 4: return ranked(rank_columns<4, 1>);
      case 5: return ranked(rank_columns<5, 1>);
      case 6: return ranked(rank_columns<6, 1>);
      case 7: return ranked(rank_columns<7, 1>);
      case 8: return ranked(rank_columns<8, 1>);
    }
}

void score(const float* z, int n_rows, int64_t d, const float* panel, const float* half_norm, float lowered,
           float* score) {
  for (int r = 0; r < n_rows; r += GROUP) {
    Floats sum[GROUP][VECTORS];
    sum_panel(z + r * d, d, panel, half_norm, lowered, sum);
    for (int i = 0; i < GROUP; ++i)
      for (int v = 0; v < VECTORS; ++v) store(score + (r + i) * PANEL + v * LANES, -sum[i][v]);
  }
}

// A row in each lane, so that no lanes are left over where a panel holds few sites.
void score_few(const float* z, int64_t d, const float* panel, const float* half_norm, int64_t n_sites, float* score) {
  constexpr int SITES = 4, ABREAST = 3;  // as many sums as stay in registers
  static_assert(PANEL % SITES == 0 && TILE % (ABREAST * LANES) == 0, "tiles must divide evenly");
  for (int64_t j = 0; j < n_sites; j += SITES)
    for (int r = 0; r < TILE; r += ABREAST * LANES) {
      Floats sum[SITES][ABREAST];
      for (int s = 0; s < SITES; ++s)
        for (int v = 0; v < ABREAST; ++v) sum[s][v] = spread(-half_norm[j + s]);
      for (int64_t t = 0; t < d; ++t) {
        Floats rows[ABREAST];
        for (int v = 0; v < ABREAST; ++v) rows[v] = load(z + t * TILE + r + v * LANES);
        for (int s = 0; s < SITES; ++s)
          for (int v = 0; v < ABREAST; ++v) sum[s][v] += panel[t * PANEL + j + s] * rows[v];
      }
      for (int s = 0; s < SITES; ++s)
        for (int v = 0; v < ABREAST; ++v) store(score + (j + s) * TILE + r + v * LANES, -sum[s][v]);
    }
}

}  // namespace

extern const DenseKernels KFREE_DENSE;
const Ranker KFREE_RANKER = {GROUP, rank, COLUMNS, rank_narrow, score, score_few, KFREE_INT8, KFREE_DENSE};

}  // namespace kfree
