// The loops over dense rows. Each is given `at(row, t)`, which makes a coordinate, and is compiled for the layouts and
// the small dimensions that deserve it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/pairs.hpp"
#include "rows/rows.hpp"

namespace kfree::loops {

// Puts w·z of a row into sum (d,), as if added to zeros: −0.0 becomes 0.0.
template <class At, class D>
void set_row(At at, D d, int64_t row, double w, double* sum) {
  int64_t t = 0;
  for (; t + 2 <= d; t += 2) put_pair(sum + t, w * at.pair(row, t) + 0.0);
  for (; t < d; ++t) sum[t] = w * at(row, t) + 0.0;
}

// Adds w·z of a row to sum (d,). Inlined, because a call takes longer than the sums of a few columns.
template <class At, class D, class W>
[[gnu::always_inline]] inline void add_row(At at, D d, int64_t row, W w, double* sum) {
  int64_t t = 0;
  // Several at a time, because the compiler must assume that writes may alias what is read next.
  constexpr int ABREAST = 4;
  for (; t + 2 * ABREAST <= d; t += 2 * ABREAST) {
    Pair added[ABREAST];
    for (int p = 0; p < ABREAST; ++p) added[p] = pair_at(sum + t + 2 * p) + w * at.pair(row, t + 2 * p);
    for (int p = 0; p < ABREAST; ++p) put_pair(sum + t + 2 * p, added[p]);
  }
  for (; t + 2 <= d; t += 2) put_pair(sum + t, pair_at(sum + t) + w * at.pair(row, t));
  for (; t < d; ++t) sum[t] += w * at(row, t);
}

// A coefficient of one, which is not multiplied with.
struct One {
  template <class T>
  friend T operator*(One, T value) {
    return value;
  }
};

// Rows::add. Both parts of a record are added to in one loop: each addition waits for that of the last row of the same
// cluster, and the two wait at the same time.
template <class At, class D>
void add(At at, D d, RowSet rows, int64_t n_rows, const double* weight, const double* sq_dist, const int32_t* record,
         double* records) {
  const auto add_to = [&](int64_t i, auto w, Pair mass) {
    double* into = records + record[i] * (d + 2);
    put_pair(into, pair_at(into) + mass);
    add_row(at, d, rows[i], w, into + 2);
  };
  for (int64_t i = 0; i < n_rows && weight; ++i) add_to(i, weight[i], Pair{weight[i], weighed(weight[i], sq_dist[i])});
  for (int64_t i = 0; i < n_rows && !weight; ++i) add_to(i, One(), Pair{1.0, sq_dist[i]});
}

// out sq_dist (n_rows,): Σ_t (z_t − c_t)², t in order, c the site that label (n_rows,) names
template <class At, class D>
void sq_dists(At at, D d, RowSet rows, int64_t n_rows, const Sites& sites, const int32_t* label, double* sq_dist) {
  // Each sum is a chain of additions, so four rows go side by side. Two columns are made at once; a shuffle turns the
  // squares of two rows into pairs of one column, which are added in order.
  constexpr int ABREAST = 4;
  // Rows that lie so far ahead are asked for: when two threads read at the same time, they would wait for them otherwise.
  constexpr int64_t AHEAD = 24;
  const double* centre = sites.centre.data();
  int64_t i = 0;
  for (; i + ABREAST <= n_rows; i += ABREAST) {
    const auto row = [&](int r) { return at.from(rows[i + r]); };
    const auto site = [&](int r) { return centre + label[i + r] * d; };
    const At z[ABREAST] = {row(0), row(1), row(2), row(3)};
    const double* const c[ABREAST] = {site(0), site(1), site(2), site(3)};
    for (int r = 0; r < ABREAST; ++r) z[r].prefetch(AHEAD, d);
    Pair sum[ABREAST / 2] = {};
    int64_t t = 0;
#pragma GCC unroll 2  // counting takes a twentieth of the time otherwise
    for (; t + 2 <= d; t += 2)
      for (int p = 0; p < ABREAST / 2; ++p) {
        const Pair a = z[2 * p].pair(0, t) - pair_at(c[2 * p] + t);
        const Pair b = z[2 * p + 1].pair(0, t) - pair_at(c[2 * p + 1] + t);
        sum[p] += firsts(a * a, b * b);
        sum[p] += seconds(a * a, b * b);
      }
    for (; t < d; ++t)
      for (int p = 0; p < ABREAST / 2; ++p) {
        const Pair gap = Pair{z[2 * p](0, t) - c[2 * p][t], z[2 * p + 1](0, t) - c[2 * p + 1][t]};
        sum[p] += gap * gap;
      }
    for (int r = 0; r < ABREAST; ++r) sq_dist[i + r] = sum[r / 2][r % 2];
  }
  for (; i < n_rows; ++i) {
    const At z = at.from(rows[i]);
    const double* c = centre + label[i] * d;
    double sum = 0.0;
    for (int64_t t = 0; t < d; ++t) sum += (z(0, t) - c[t]) * (z(0, t) - c[t]);
    sq_dist[i] = sum;
  }
}

// The nearest of the first n_sites sites, the first one on ties, by all canonical distances: for so few columns and sites
// that ranking would not save time. out label, sq_dist (n_rows,); second (n_rows,), the squared distance to the next
template <class At, class D>
void nearest_of_few(At at, D d, RowSet rows, int n_rows, const Sites& sites, int64_t n_sites, int32_t* label,
                    double* sq_dist, double* second) {
  constexpr int PAIRS = 2;  // of rows side by side
  constexpr double FAR = std::numeric_limits<double>::infinity();
  for (int i = 0; i < n_rows; i += 2 * PAIRS) {
    const auto place = [&](int p, int r) { return std::min(i + 2 * p + r, n_rows - 1); };
    Pair z[PAIRS][d()], best[PAIRS], next[PAIRS];
    PairMask index[PAIRS] = {};
    for (int p = 0; p < PAIRS; ++p) {
      const int64_t a = rows[place(p, 0)], b = rows[place(p, 1)];
      for (int t = 0; t < d; ++t) z[p][t] = Pair{at(a, t), at(b, t)};
      best[p] = next[p] = Pair{FAR, FAR};
    }
    const double* c = sites.centre.data();
    for (int64_t j = 0; j < n_sites; ++j, c += d)
      for (int p = 0; p < PAIRS; ++p) {
        Pair sum = {};
        for (int t = 0; t < d; ++t) sum += (z[p][t] - c[t]) * (z[p][t] - c[t]);
        index[p] = sum < best[p] ? PairMask{j, j} : index[p];
        next[p] = lower_of(next[p], higher_of(best[p], sum));
        best[p] = lower_of(best[p], sum);
      }
    for (int p = 0; p < PAIRS; ++p)
      for (int r = 0; r < 2; ++r) {
        label[place(p, r)] = static_cast<int32_t>(index[p][r]);
        sq_dist[place(p, r)] = best[p][r];
        second[place(p, r)] = next[p][r];
      }
  }
}

// out z32 (⌈n_rows/GROUP⌉, d, GROUP): rows as the ranking kernels want them; sq_norm (n_rows,), added in any order
template <int GROUP, class At>
void pack(At at, int64_t d, RowSet rows, int n_rows, float* z32, double* sq_norm) {
  static_assert(GROUP % 2 == 0, "rows are packed two by two");
  for (int i = 0; i < n_rows; i += GROUP) {
    int64_t row[GROUP];
    Pair norm[GROUP] = {};
    for (int r = 0; r < GROUP; ++r) row[r] = rows[std::min(i + r, n_rows - 1)];
    float* out = z32 + i * d;
    int64_t t = 0;
    for (; t + 2 <= d; t += 2, out += 2 * GROUP)
      for (int r = 0; r < GROUP; r += 2) {
        const Pair a = at.pair(row[r], t), b = at.pair(row[r + 1], t);
        norm[r] += a * a;
        norm[r + 1] += b * b;
        put_narrowed(out + r, firsts(a, b));
        put_narrowed(out + GROUP + r, seconds(a, b));
      }
    for (; t < d; ++t)
      for (int r = 0; r < GROUP; ++r) {
        const double value = at(row[r], t);
        norm[r][0] += value * value;
        out[r] = static_cast<float>(value);
      }
    for (int r = 0; r < GROUP && i + r < n_rows; ++r) sq_norm[i + r] = norm[r][0] + norm[r][1];
  }
}

}  // namespace kfree::loops
