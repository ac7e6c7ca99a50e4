// One source, compiled once per width of registers (CMake sets KFREE_DENSE, KFREE_VECTOR_BYTES and KFREE_GROUP).
// Multiplications and additions never fuse here. No std templates, as in rank.cpp.
#include "rows/dense_loops.hpp"

#include "assign/rank.hpp"
#include "core/halves.hpp"
#include "core/pairs.hpp"
#include "rows/dense_layouts.hpp"

namespace kfree {
namespace {

constexpr int WIDEST = KFREE_VECTOR_BYTES / 8;

// A number of columns that is known when the loop is compiled.
template <int D>
struct Columns {
  KFREE_INLINE constexpr operator int64_t() const { return D; }
};

template <class T, class Body>
inline void with_coordinates(const DenseData<T>& data, Body body) {
  if (data.length)
    body(Unit<T>{data.X, data.row_stride, data.column_stride, data.length});
  else if (data.column_stride == 1)
    body(Contiguous<T>{data.X, data.row_stride, data.anchor, data.shift});
  else
    body(Strided<T>{data.X, data.row_stride, data.column_stride, data.anchor, data.shift});
}

// Loops over few columns are compiled for their number, and for eight.
template <class Body>
inline void with_dimension(int64_t d, Body body) {
  switch (d) {
    case 1: return body(Columns<1>());
    case 2: return body(Columns<2>());
    case 3: return body(Columns<3>());
    case 4: return body(Columns<4>());
    case 8: return body(Columns<8>());
    default: return body(d);
  }
}

template <class T>
void copy(const DenseData<T>& data, int64_t row, double* z) {
  with_coordinates(data, [&](auto at) {
    for (int64_t t = 0; t < data.d; ++t) z[t] = at(row, t);
  });
}

// Adds w·z of a row to sum (d,), columns from t on.
template <int W, class At, class D, class Weight>
KFREE_INLINE inline void add_columns(At at, D d, int64_t row, Weight w, double* sum, int64_t t) {
  if constexpr (W > 1) {
    // Several at a time, because the compiler must assume that writes may alias what is read next.
    constexpr int ABREAST = 4;
    for (; t + ABREAST * W <= d; t += ABREAST * W) {
      Doubles<W> added[ABREAST];
      for (int p = 0; p < ABREAST; ++p)
        added[p] = loaded<W>(sum + t + p * W) + w * at.template wide<W>(row, t + p * W);
      for (int p = 0; p < ABREAST; ++p) store<W>(sum + t + p * W, added[p]);
    }
    for (; t + W <= d; t += W) store<W>(sum + t, loaded<W>(sum + t) + w * at.template wide<W>(row, t));
    add_columns<W / 2>(at, d, row, w, sum, t);
  } else {
    for (; t < d; ++t) sum[t] += w * at(row, t);
  }
}

template <int W, class At>
KFREE_INLINE inline void set_columns(At at, int64_t d, int64_t row, double w, double* sum, int64_t t) {
  if constexpr (W > 1) {
    for (; t + W <= d; t += W) store<W>(sum + t, w * at.template wide<W>(row, t) + 0.0);
    set_columns<W / 2>(at, d, row, w, sum, t);
  } else {
    for (; t < d; ++t) sum[t] = w * at(row, t) + 0.0;
  }
}

template <class T>
void set_row(const DenseData<T>& data, int64_t row, double weight, double* sum) {
  with_coordinates(data, [&](auto at) { set_columns<WIDEST>(at, data.d, row, weight, sum, 0); });
}

template <class T>
void add_row(const DenseData<T>& data, int64_t row, double weight, double* sum) {
  with_coordinates(data, [&](auto at) { add_columns<WIDEST>(at, data.d, row, weight, sum, 0); });
}

// A coefficient of one, which is not multiplied with.
struct One {
  template <class V>
  KFREE_INLINE friend V operator*(One, V value) {
    return value;
  }
};

// Both parts of a record are added to in one loop: each addition waits for that of the last row of the same cluster, and
// the two wait at the same time.
template <class At, class D>
void add(At at, D d, RowSet rows, int64_t n_rows, const double* weight, const double* sq_dist, const int32_t* record,
         double* records) {
  const auto add_to = [&](int64_t i, auto w, Doubles<2> mass) {
    double* into = records + record[i] * (d + 2);
    store<2>(into, loaded<2>(into) + mass);
    add_columns<WIDEST>(at, d, rows[i], w, into + 2, 0);
  };
  for (int64_t i = 0; i < n_rows && weight; ++i)
    add_to(i, weight[i], Doubles<2>{weight[i], weighed(weight[i], sq_dist[i])});
  for (int64_t i = 0; i < n_rows && !weight; ++i) add_to(i, One(), Doubles<2>{1.0, sq_dist[i]});
}

template <class T>
void add(const DenseData<T>& data, RowSet rows, int64_t n_rows, const double* weight, const double* sq_dist,
         const int32_t* record, double* records) {
  with_coordinates(data, [&](auto at) {
    with_dimension(data.d, [&](auto d) { add(at, d, rows, n_rows, weight, sq_dist, record, records); });
  });
}

// A sum is a chain of additions, so several rows go side by side, one in each lane of a vector, or of two short vectors.
// With more rows, lines that are still needed would be evicted from the first-level cache.
template <int W>
constexpr int CHAINS = W < 8 ? 2 : 1;

// Squared distances of some rows to a site each, Σ_t (z_t − c_t)², t in order: W columns are made at once, and W squares
// of W rows are turned into columns, which are added in order.
template <int W, class At, class D>
KFREE_INLINE inline void sq_dists_abreast(const At* z, const double* const* c, D d, double* sq_dist) {
  Doubles<W> sum[CHAINS<W>] = {};
  // The columns t … t + W − 1, of which the first ones may have been added already.
  const auto add_columns = [&](int64_t t, int64_t n_added) KFREE_INLINE {
    for (int chain = 0; chain < CHAINS<W>; ++chain) {
      Doubles<W> square[W];
      for (int r = 0; r < W; ++r) {
        const int place = chain * W + r;
        const Doubles<W> gap = z[place].template wide<W>(0, t) - loaded<W>(c[place] + t);
        square[r] = gap * gap;
      }
      transpose(square);
      for (int column = 0; column < W; ++column)
        if (column >= n_added) sum[chain] += square[column];
    }
  };
  int64_t t = 0;
  for (; t + W <= d; t += W) add_columns(t, 0);
  if (t < d) add_columns(d - W, t - (d - W));
  for (int chain = 0; chain < CHAINS<W>; ++chain) store<W>(sq_dist + chain * W, sum[chain]);
}

// From row i on: as many rows abreast as there are, then fewer.
template <int W, class At, class D>
KFREE_INLINE inline void sq_dists_from(int64_t i, At at, D d, RowSet rows, int64_t n_rows, const double* centre,
                                       const int32_t* label, double* sq_dist) {
  if constexpr (W > 1) {
    constexpr int ABREAST = CHAINS<W> * W;
    // Rows that lie so far ahead are asked for: when two threads read at the same time, they would wait for them otherwise.
    constexpr int64_t AHEAD = 24;
    for (; W <= d && i + ABREAST <= n_rows; i += ABREAST) {
      At z[ABREAST];
      const double* c[ABREAST];
      for (int r = 0; r < ABREAST; ++r) {
        z[r] = at.from(rows[i + r]);
        c[r] = centre + label[i + r] * d;
        z[r].prefetch(AHEAD, d);
      }
      sq_dists_abreast<W>(z, c, d, sq_dist + i);
    }
    sq_dists_from<W / 2>(i, at, d, rows, n_rows, centre, label, sq_dist);
  } else {
    for (; i < n_rows; ++i) {
      const At z = at.from(rows[i]);
      const double* c = centre + label[i] * d;
      double sum = 0.0;
      for (int64_t t = 0; t < d; ++t) sum += (z(0, t) - c[t]) * (z(0, t) - c[t]);
      sq_dist[i] = sum;
    }
  }
}

template <class T>
void sq_dists(const DenseData<T>& data, RowSet rows, int64_t n_rows, const double* centre, const int32_t* label,
              double* sq_dist) {
  with_coordinates(data, [&](auto at) {
    with_dimension(data.d, [&](auto d) { sq_dists_from<WIDEST>(0, at, d, rows, n_rows, centre, label, sq_dist); });
  });
}

// N sites side by side.
template <int N>
KFREE_INLINE inline void sq_dists_of(const double* z, int64_t d, const double* centre, const int32_t* some,
                                     double* sq_dist) {
  constexpr int W = WIDEST, CHAINS = 8 / N;  // additions that do not wait for each other
  const double* c[N];
  Doubles<W> sum[N][CHAINS] = {};
  for (int j = 0; j < N; ++j) c[j] = centre + some[j] * d;
  int64_t t = 0;
  for (; t + CHAINS * W <= d; t += CHAINS * W)
    for (int chain = 0; chain < CHAINS; ++chain) {
      const Doubles<W> row = loaded<W>(z + t + chain * W);
      for (int j = 0; j < N; ++j) {
        const Doubles<W> gap = row - loaded<W>(c[j] + t + chain * W);
        sum[j][chain] += gap * gap;
      }
    }
  for (int j = 0; j < N; ++j) {
    sq_dist[j] = 0.0;
    for (int64_t rest = t; rest < d; ++rest) sq_dist[j] += (z[rest] - c[j][rest]) * (z[rest] - c[j][rest]);
    for (const Doubles<W>& chain : sum[j])
      for (int lane = 0; lane < W; ++lane) sq_dist[j] += chain[lane];
  }
}

void sq_dists_in_any_order(const double* z, int64_t d, const double* centre, const int32_t* some, int n,
                           double* sq_dist) {
  int j = 0;
  for (; j + 4 <= n; j += 4) sq_dists_of<4>(z, d, centre, some + j, sq_dist + j);
  for (; j + 2 <= n; j += 2) sq_dists_of<2>(z, d, centre, some + j, sq_dist + j);
  if (j < n) sq_dists_of<1>(z, d, centre, some + j, sq_dist + j);
}

void sq_dist_panel(const double* z, const double* panel, int64_t d, double* sq_dist) {
  constexpr int W = WIDEST, VECTORS = PANEL / W;
  Doubles<W> sum[VECTORS] = {};
  for (int64_t t = 0; t < d; ++t)
    for (int v = 0; v < VECTORS; ++v) {
      const Doubles<W> gap = z[t] - loaded<W>(panel + t * PANEL + v * W);
      sum[v] += gap * gap;
    }
  for (int v = 0; v < VECTORS; ++v) store<W>(sq_dist + v * W, sum[v]);
}

// The first `n` numbers of p, then zeros.
template <int W>
inline Doubles<W> some_of(const double* p, int n) {
  if (n >= W) return loaded<W>(p);
  Doubles<W> values = {};
  for (int lane = 0; lane < n; ++lane) values[lane] = p[lane];
  return values;
}

// A row in each lane. Lanes beyond the last row weigh nothing.
void add_potentials(const ScoredTile& tile, int n_rows, int64_t n_candidates, double* potential, double* error,
                    char* may_gain) {
  constexpr int W = WIDEST;
  typedef typename VectorOf<int8_t, W>::type Bytes;
  const Doubles<W> none = {}, one = none + 1.0, infinite = none + __builtin_inf();
  Doubles<W> sum[PANEL] = {}, doubt[PANEL] = {};
  for (int i = 0; i < n_rows; i += W) {
    const int n = n_rows - i;
    Doubles<W> w = tile.weight ? some_of<W>(tile.weight + i, n) : one;
    for (int lane = n; lane < W && !tile.weight; ++lane) w[lane] = 0.0;
    const Doubles<W> now = some_of<W>(tile.sq_dist + i, n), norm = some_of<W>(tile.sq_norm + i, n);
    const Doubles<W> by = norm < tile.most_sq_norm ? tile.factor * norm + tile.least : infinite, most = w * by;
    Bytes gains = {};
    for (int64_t j = 0; j < n_candidates; ++j) {
      const Doubles<W> then = norm + 2.0 * loaded<W>(tile.score + j * TILE + i);
      sum[j] += w * lower_of(now, then);
      // A candidate that is surely farther than what the row has already contributes no error. What is not a number is not
      // sure.
      const auto is_farther = then - by >= now;
      doubt[j] += is_farther ? none : most;
      gains |= __builtin_convertvector(~is_farther, Bytes);
    }
    const Bytes ones = gains & 1;
    __builtin_memcpy(may_gain + i, &ones, n < W ? n : W);
  }
  for (int64_t j = 0; j < n_candidates; ++j)
    for (int lane = 0; lane < W; ++lane) {
      potential[j] += sum[j][lane];
      error[j] += doubt[j][lane];
    }
}

int decide(const RankedTile& ranked, int n_rows, double* error, int64_t* decided, double* second_sq_dist) {
  constexpr int W = WIDEST;
  typedef typename VectorOf<int64_t, W>::type Mask;
  typedef typename VectorOf<int64_t, W>::unaligned LoadedMask;
  static_assert(TILE % W == 0, "tiles must divide evenly");
  const Doubles<W> infinite = Doubles<W>{} + __builtin_inf();
  Mask n_decided = {};
  for (int i = 0; i < n_rows; i += W) {
    // Lanes beyond the last row hold anything, and are not counted.
    Mask counts;
    Doubles<W> sites = {};
    const Doubles<W> norm = loaded<W>(ranked.sq_norm + i);
    // Outside float32's range the index is not valid, so it is not used.
    const Mask valid = norm < ranked.most_sq_norm;
    for (int lane = 0; lane < W; ++lane) {
      counts[lane] = i + lane < n_rows ? -1 : 0;
      sites[lane] = ranked.site_sq_norm[counts[lane] & valid[lane] & ranked.index[i + lane]];
    }
    const Doubles<W> own = valid ? ranked.row_factor * norm + ranked.row_least : infinite;
    const Doubles<W> best = loaded<W>(ranked.best + i), second = loaded<W>(ranked.second + i);
    const Mask sure = (second - best > 2.0 * (own + ranked.site_factor * sites)) & valid & counts;
    const Doubles<W> bound = norm + 2.0 * (second - 2.0 * own), zero = {};
    store<W>(error + i, own);
    store<W>(second_sq_dist + i, bound > zero ? bound : zero);  // what is not a number becomes 0
    *reinterpret_cast<LoadedMask*>(decided + i) = -sure;
    n_decided -= sure;
  }
  int n = 0;
  for (int lane = 0; lane < W; ++lane) n += static_cast<int>(n_decided[lane]);
  return n;
}

template <class At, int D>
inline void nearest_of_few(At at, Columns<D> d, RowSet rows, int n_rows, const double* centre, int64_t n_sites,
                           int32_t* label, double* sq_dist, double* second) {
  constexpr int W = WIDEST, ABREAST = 2;  // vectors of rows side by side
  const Doubles<W> far = Doubles<W>{} + __builtin_inf();
  for (int i = 0; i < n_rows; i += ABREAST * W) {
    const auto place = [&](int v, int lane) { return i + v * W + lane < n_rows ? i + v * W + lane : n_rows - 1; };
    Doubles<W> z[ABREAST][D], best[ABREAST], next[ABREAST];
    typename VectorOf<int64_t, W>::type index[ABREAST] = {};
    for (int v = 0; v < ABREAST; ++v) {
      for (int t = 0; t < D; ++t) {
        Doubles<W> column = {};
        for (int lane = 0; lane < W; ++lane) column[lane] = at(rows[place(v, lane)], t);
        z[v][t] = column;
      }
      best[v] = next[v] = far;
    }
    const double* c = centre;
    for (int64_t j = 0; j < n_sites; ++j, c += d)
      for (int v = 0; v < ABREAST; ++v) {
        Doubles<W> sum = {};
        for (int t = 0; t < D; ++t) sum += (z[v][t] - c[t]) * (z[v][t] - c[t]);
        index[v] = sum < best[v] ? j - typename VectorOf<int64_t, W>::type{} : index[v];
        next[v] = lower_of(next[v], higher_of(best[v], sum));
        best[v] = lower_of(best[v], sum);
      }
    for (int v = 0; v < ABREAST; ++v)
      for (int lane = 0; lane < W; ++lane) {
        label[place(v, lane)] = static_cast<int32_t>(index[v][lane]);
        sq_dist[place(v, lane)] = best[v][lane];
        second[place(v, lane)] = next[v][lane];
      }
  }
}

template <class T>
void nearest_of_few(const DenseData<T>& data, RowSet rows, int n_rows, const double* centre, int64_t n_sites,
                    int32_t* label, double* sq_dist, double* second) {
  with_coordinates(data, [&](auto at) {
    const auto find = [&](auto d) { nearest_of_few(at, d, rows, n_rows, centre, n_sites, label, sq_dist, second); };
    static_assert(TINY_COLUMNS == 3, "one case for each number of columns");
    if (data.d == 1) find(Columns<1>());
    if (data.d == 2) find(Columns<2>());
    if (data.d == 3) find(Columns<3>());
  });
}

// GROUP rows, W at a time in the lanes of a vector. out z32 (d, GROUP), norm (GROUP,)
template <int GROUP, int W, class At>
KFREE_INLINE inline void pack_group(At at, int64_t d, const int64_t* row, float* z32, double* norm) {
  static_assert(GROUP % W == 0, "rows are packed W by W");
  for (int first = 0; first < GROUP; first += W) {
    Doubles<W> sum = {};
    const auto pack_columns = [&](int64_t t, int64_t n_packed) KFREE_INLINE {
      Doubles<W> z[W];
      for (int r = 0; r < W; ++r) z[r] = at.template wide<W>(row[first + r], t);
      transpose(z);
      for (int column = 0; column < W; ++column)
        if (column >= n_packed) {
          store_narrowed<W>(z32 + (t + column) * GROUP + first, z[column]);
          sum += z[column] * z[column];
        }
    };
    int64_t t = 0;
    for (; t + W <= d; t += W) pack_columns(t, 0);
    if (t < d) pack_columns(d - W, t - (d - W));
    store<W>(norm + first, sum);
  }
}

template <int GROUP, class At>
inline void pack(At at, int64_t d, RowSet rows, int n_rows, float* z32, double* sq_norm) {
  constexpr int W = GROUP % WIDEST == 0 ? WIDEST : 2;
  for (int i = 0; i < n_rows; i += GROUP) {
    int64_t row[GROUP];
    double norm[GROUP] = {};
    for (int r = 0; r < GROUP; ++r) row[r] = rows[i + r < n_rows ? i + r : n_rows - 1];
    if (d >= W)
      pack_group<GROUP, W>(at, d, row, z32 + i * d, norm);
    else if (W == 8 && d >= 4)
      pack_group<GROUP, W == 8 ? 4 : W>(at, d, row, z32 + i * d, norm);
    else if (d >= 2)
      pack_group<GROUP, 2>(at, d, row, z32 + i * d, norm);
    else
      for (int r = 0; r < GROUP && d > 0; ++r) {
        const double value = at(row[r], 0);
        norm[r] = value * value;
        z32[i * d + r] = static_cast<float>(value);
      }
    for (int r = 0; r < GROUP && i + r < n_rows; ++r) sq_norm[i + r] = norm[r];
  }
}

template <class T>
void pack(const DenseData<T>& data, RowSet rows, int n_rows, int group, float* z32, double* sq_norm) {
  with_coordinates(data, [&](auto at) {
    if (group == KFREE_GROUP)
      pack<KFREE_GROUP>(at, data.d, rows, n_rows, z32, sq_norm);
    else
      pack<TILE>(at, data.d, rows, n_rows, z32, sq_norm);
  });
}

template <class T>
constexpr DenseLoops<T> LOOPS = {copy<T>, add<T>, sq_dists<T>, set_row<T>, add_row<T>, nearest_of_few<T>, pack<T>};

}  // namespace

// Constants are not seen outside unless they are declared so.
extern const DenseKernels KFREE_DENSE;
const DenseKernels KFREE_DENSE = {decide, sq_dists_in_any_order, add_potentials, sq_dist_panel, LOOPS<float>, LOOPS<double>};

}  // namespace kfree
