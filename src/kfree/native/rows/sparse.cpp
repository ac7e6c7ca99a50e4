// Sparse rows (CSR): not centred, so that work follows the stored values alone.
#include <algorithm>
#include <limits>

#include "core/pairs.hpp"
#include "rows/block_fold.hpp"
#include "rows/rows.hpp"
#include "rows/scored.hpp"

namespace kfree {
namespace {

// ‖x−c‖² = ‖c‖² + Σ x(x−2c) over the stored values cancels when x is near c; below this share of ‖c‖² all
// coordinates are summed instead.
constexpr double CANCELLED = 0.1;

template <class T, class I>
class CsrRows final : public Rows {
 public:
  CsrRows(const T* data, const I* indices, const I* indptr, int64_t n, int64_t d, bool unit, const double* weight,
          int64_t first_block)
      : Rows(n, d, unit ? Centres::DIRECTIONS : Centres::MEANS, weight, first_block), data_(data), indices_(indices), indptr_(indptr) {
    if (unit)
      measure_lengths(
          [this](int64_t row) { return exact::length([this, row](auto visit) { each_stored(row, visit); }); });
  }

  void copy(int64_t row, double* z) const override {
    for (int64_t t = 0; t < d; ++t) z[t] = 0.0;
    each(row, [z](int64_t t, double value) { z[t] = value; });
  }

  void add(RowSet rows, int64_t n_rows, const double* weight, const double* sq_dist, const int32_t* record,
           double* records) const override {
    for (int64_t i = 0; i < n_rows; ++i) {
      const double w = weight ? weight[i] : 1.0;
      double* into = records + record[i] * (d + 2);
      put_pair(into, pair_at(into) + Pair{w, weighed(w, sq_dist[i])});
      each(rows[i], [w, sum = into + 2](int64_t t, double value) { sum[t] += w * value; });
    }
  }

  void add_up(const ByCluster& rows, double* record) const override {
    BlockFold(rows, first_block, d, Source{*this}).write(record);
  }

  void sq_dists(RowSet rows, int64_t n_rows, const Sites& sites, const int32_t* label,
                double* sq_dist) const override {
    for (int64_t i = 0; i < n_rows; ++i) {
      double sum = 0.0;
      const double* c = sites[label[i]];
      each(rows[i], [&sum, c](int64_t t, double value) { sum += value * (value - 2.0 * c[t]); });
      sq_dist[i] = sq_dist_from(rows[i], sites, label[i], sum);
    }
  }

  void focus(int64_t row, Scratch& scratch) const override { scratch.row = row; }

  void sq_dist_panel(const Scratch& scratch, const Sites& sites, int64_t p, double* sq_dist) const override {
    double sum[PANEL] = {};
    const double* panel = sites.panel(p);
    each(scratch.row, [&sum, panel](int64_t t, double value) {
      for (int lane = 0; lane < PANEL; ++lane) sum[lane] += value * (value - 2.0 * panel[t * PANEL + lane]);
    });
    const int64_t first = p * PANEL;
    for (int lane = 0; lane < PANEL && first + lane < sites.k; ++lane)
      sq_dist[lane] = sq_dist_from(scratch.row, sites, first + lane, sum[lane]);
  }

  void nearest(RowSet rows, int n_rows, const Sites& sites, int64_t n_sites, Scratch& scratch, int32_t* label,
               double* sq_dist, double* second, Known) const override {
    Scored scored;
    // An incomplete panel is computed canonically: its youngest sites do not exist yet.
    const bool ranked = n_sites == sites.k && n_sites > 1;
    for (int i = 0; i < n_rows; ++i) {
      const exact::RankError error(d, n_stored(rows[i]));
      if (ranked)
        score(rows[i], sites.panels32.data(), sites.half_norm32.data(), sites.n_panels(), sites.max_norm(), error, i,
              scored);
      const bool decided = ranked && scored.decided(i, sites, error);
      label[i] = decided ? scored.index[i] : 0;
      sq_dist[i] = second[i] = std::numeric_limits<double>::infinity();
      if (decided) {
        sq_dists({nullptr, rows[i]}, 1, sites, label + i, sq_dist + i);
        second[i] = scored.second_sq_dist(i);
      } else {
        improve(rows[i], sites, 0, n_sites, scratch, label[i], sq_dist[i], second[i]);
      }
    }
  }

  void lower_among(RowSet rows, int n_rows, const Sites& sites, const Subset& some, const int32_t* label, Scratch&,
                   double* lower) const override {
    Scored scored;
    for (int i = 0; i < n_rows; ++i) {
      const exact::RankError error(d, n_stored(rows[i]));
      score(rows[i], some.panels32.data(), some.half_norm32.data(), some.n_panels(), sites.max_norm(), error, i,
            scored);
      lower[i] = scored.lower_but(label[i], i, some, d);
    }
  }

  void add_potentials(int64_t begin, int n_rows, const Sites& candidates, const double* sq_dist, Scratch& scratch,
                      double* potential, double*, char* may_gain) const override {
    for (int i = 0; i < n_rows; ++i) {
      double gap[PANEL];
      focus(begin + i, scratch);
      sq_dist_panel(scratch, candidates, 0, gap);
      may_gain[i] = 0;
      for (int64_t j = 0; j < candidates.k; ++j) {
        potential[j] += weight(begin + i) * std::min(sq_dist[i], gap[j]);
        may_gain[i] |= gap[j] < sq_dist[i];
      }
    }
  }

 private:
  // Rows for BlockFold.
  struct Source {
    const CsrRows& rows;

    void set(int64_t row, double weight, double* sum) const {
      std::fill_n(sum, rows.d, 0.0);
      add(row, weight, sum);
    }
    void add(int64_t row, double weight, double* sum) const {
      rows.each(row, [weight, sum](int64_t t, double value) { sum[t] += weight * value; });
    }
    void prefetch(int64_t row) const { __builtin_prefetch(rows.data_ + rows.indptr_[row]); }
  };

  // Calls visit(column, value) for the values of a row as they are stored.
  template <class Visit>
  void each_stored(int64_t row, Visit visit) const {
    for (int64_t s = indptr_[row]; s < indptr_[row + 1]; ++s)
      visit(static_cast<int64_t>(indices_[s]), static_cast<double>(data_[s]));
  }

  // The same for its coordinates that are not zero. Where centres are means nothing is divided: that takes longer than all
  // the rest.
  template <class Visit>
  void each(int64_t row, Visit visit) const {
    if (centres == Centres::MEANS) return each_stored(row, visit);
    const double length = lengths_[row];
    each_stored(row, [&visit, length](int64_t t, double value) { visit(t, value / length); });
  }

  // The two lowest scores of rank.hpp among packed sites, as place i of `scored`; first-born on ties.
  void score(int64_t row, const float* panels, const float* half_norm, int64_t n_panels, double max_norm,
             const exact::RankError& error, int i, Scored& scored) const {
    const double scale = centres == Centres::MEANS ? 1.0 : 1.0 / lengths_[row];
    float best = FARTHEST, second = FARTHEST;
    int32_t index = 0;
    const int64_t n_places = n_panels * PANEL;
    for (int64_t first = 0; first < n_places; first += 2 * PANEL) {
      // Fours without a site are left out.
      int64_t end = std::min(first + 2 * PANEL, n_places);
      while (end > first + 4 && half_norm[end - 4] == FARTHEST) end -= 4;
      float scores[2 * PANEL];
      for (int64_t j = first; j < end; ++j) scores[j - first] = half_norm[j] * error.lowered();
      subtract_products(row, scale, panels + first * d, static_cast<int>((end - first + 3) / 4), scores);
      for (int64_t j = first; j < end; ++j) {
        const float score = scores[j - first];
        second = std::min(second, std::max(best, score));
        if (score < best) {
          best = score;
          index = static_cast<int32_t>(j);
        }
      }
    }
    double sq_norm = 0.0;
    each(row, [&sq_norm](int64_t, double value) { sq_norm += value * value; });
    scored.best[i] = best;
    scored.second[i] = second;
    scored.index[i] = index;
    scored.sq_norm[i] = sq_norm;
    // The length of a row may be so small that float64 does not hold its inverse.
    scored.error[i] = std::isfinite(scale) ? error.of_row(sq_norm, max_norm) : std::numeric_limits<double>::infinity();
  }

  // Subtracts the row's products with the first n_fours·4 sites of two panels from their scores.
  void subtract_products(int64_t row, double scale, const float* panels, int n_fours, float* scores) const {
    switch (n_fours) {
      case 1: return subtract_fours<1>(row, scale, panels, scores);
      case 2: return subtract_fours<2>(row, scale, panels, scores);
      case 3: return subtract_fours<3>(row, scale, panels, scores);
      case 4: return subtract_fours<4>(row, scale, panels, scores);
      case 5: return subtract_fours<5>(row, scale, panels, scores);
      case 6: return subtract_fours<6>(row, scale, panels, scores);
      case 7: return subtract_fours<7>(row, scale, panels, scores);
      default: return subtract_fours<8>(row, scale, panels, scores);
    }
  }

  template <int N_FOURS>
  void subtract_fours(int64_t row, double scale, const float* panels, float* scores) const {
    constexpr int64_t AHEAD = 16, FOURS = PANEL / 4;
    LoadedFour sum[N_FOURS];
    for (int v = 0; v < N_FOURS; ++v) sum[v] = *reinterpret_cast<const LoadedFour*>(scores + 4 * v);
    const int64_t begin = indptr_[row], end = indptr_[row + 1];
    for (int64_t s = begin; s < end; ++s) {
      // Columns are far apart in memory, so they are prefetched some values ahead.
      const float* ahead = panels + indices_[s + AHEAD < end ? s + AHEAD : end - 1] * static_cast<int64_t>(PANEL);
      __builtin_prefetch(ahead);
      if (N_FOURS > FOURS) __builtin_prefetch(ahead + d * PANEL);
      const float x = static_cast<float>(static_cast<double>(data_[s]) * scale);
      const float* column = panels + indices_[s] * static_cast<int64_t>(PANEL);
      for (int v = 0; v < N_FOURS; ++v)
        sum[v] -= x * *reinterpret_cast<const LoadedFour*>(column + v / FOURS * d * PANEL + v % FOURS * 4);
    }
    for (int v = 0; v < N_FOURS; ++v) *reinterpret_cast<LoadedFour*>(scores + 4 * v) = sum[v];
  }

  int64_t n_stored(int64_t row) const { return indptr_[row + 1] - indptr_[row]; }

  double sq_dist_from(int64_t row, const Sites& sites, int64_t j, double sum) const {
    const double quick = sites.sq_norm[j] + sum;
    return quick > CANCELLED * sites.sq_norm[j] ? quick : sq_dist_all(row, sites[j]);
  }

  double sq_dist_all(int64_t row, const double* c) const {
    double sum = 0.0;
    int64_t next = 0;
    each(row, [&](int64_t t, double value) {
      for (; next < t; ++next) sum += c[next] * c[next];
      sum += (value - c[t]) * (value - c[t]);
      next = t + 1;
    });
    for (; next < d; ++next) sum += c[next] * c[next];
    return sum;
  }

  const T* data_;
  const I* indices_;
  const I* indptr_;
};

}  // namespace

template <class T, class I>
std::unique_ptr<Rows> csr_rows(const T* data, const I* indices, const I* indptr, int64_t n, int64_t d, bool unit,
                               const double* weight, int64_t first_block) {
  return std::make_unique<CsrRows<T, I>>(data, indices, indptr, n, d, unit, weight, first_block);
}

#define KFREE_CSR(T, I)                                                                                           \
  template std::unique_ptr<Rows> csr_rows<T, I>(const T*, const I*, const I*, int64_t, int64_t, bool, const double*, \
                                                int64_t);
KFREE_CSR(float, int32_t)
KFREE_CSR(float, int64_t)
KFREE_CSR(double, int32_t)
KFREE_CSR(double, int64_t)

}  // namespace kfree
