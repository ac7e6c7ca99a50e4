// Dense rows: coordinates are made on the fly from the caller's array, whatever its strides.
#include <algorithm>
#include <utility>

#include "exact.hpp"
#include "rows.hpp"

namespace kfree {
namespace {

template <class T>
class DenseRows final : public Rows {
 public:
  DenseRows(const T* X, int64_t n, int64_t d, int64_t row_stride, int64_t column_stride, std::vector<double> anchor,
            std::vector<double> shift, bool unit, const double* weight, RankKernel rank)
      : Rows(n, d, weight), X_(X), row_stride_(row_stride), column_stride_(column_stride),
        anchor_(std::move(anchor)), shift_(std::move(shift)), rank_(rank) {
    if (!unit) return;
    std::vector<double> lengths(n);
    for (int64_t row = 0; row < n; ++row)
      lengths[row] = exact::length([this, row](auto visit) { each(row, visit); });
    lengths_ = std::move(lengths);
  }

  void copy(int64_t row, double* z) const override {
    each(row, [z](int64_t t, double value) { z[t] = value; });
  }

  void add(int64_t row, double w, double* sum) const override {
    each(row, [w, sum](int64_t t, double value) { sum[t] += w * value; });
  }

  double sq_dist(int64_t row, const Sites& sites, int64_t j) const override {
    double sum = 0.0;
    const double* c = sites[j];
    each(row, [&sum, c](int64_t t, double value) { sum += (value - c[t]) * (value - c[t]); });
    return sum;
  }

  void focus(int64_t row, Scratch& scratch) const override {
    scratch.z.resize(d);
    copy(row, scratch.z.data());
  }

  void sq_dist_panel(const Scratch& scratch, const Sites& sites, int64_t p, double* sq_dist) const override {
    exact::sq_dist_panel(scratch.z.data(), sites.panel(p), d, sq_dist);
  }

  void nearest(RowSet rows, int n_rows, const Sites& sites, int64_t n_sites, Scratch& scratch, int32_t* label,
               double* sq_dist, double* lower) const override {
    // Ranking takes whole panels; the youngest sites of a cut-off panel are held against the winner one by one.
    const int64_t n_panels = n_sites == sites.k ? sites.n_panels() : n_sites / PANEL;
    const int64_t n_ranked = std::min(n_panels * PANEL, n_sites);
    bool decided[TILE];
    double second[TILE];
    rank_tile(rows, n_rows, sites, n_panels, n_ranked, scratch, label, second, decided);
    for (int i = 0; i < n_rows; ++i) {
      if (decided[i]) {
        sq_dist[i] = this->sq_dist(rows[i], sites, label[i]);
        if (n_ranked < n_sites) improve(rows[i], sites, n_ranked, n_sites, scratch, label[i], sq_dist[i], second[i]);
      } else {
        label[i] = 0;
        sq_dist[i] = second[i] = std::numeric_limits<double>::infinity();
        improve(rows[i], sites, 0, n_sites, scratch, label[i], sq_dist[i], second[i]);
      }
      lower[i] = exact::safe_dist(second[i], d);
    }
  }

 private:
  template <class Visit>
  void each(int64_t row, Visit visit) const {
    const T* x = X_ + row * row_stride_;
    if (lengths_.empty()) {
      for (int64_t t = 0; t < d; ++t)
        visit(t, (static_cast<double>(x[t * column_stride_]) - anchor_[t]) - shift_[t]);
    } else {
      const double length = lengths_[row];
      for (int64_t t = 0; t < d; ++t) visit(t, static_cast<double>(x[t * column_stride_]) / length);
    }
  }

  // Ranks a tile among the first n_ranked sites; `decided` is false where the two best are too close to call.
  // out second (n_rows,): no other site has a smaller squared distance than this
  void rank_tile(RowSet rows, int n_rows, const Sites& sites, int64_t n_panels, int64_t n_ranked, Scratch& scratch,
                 int32_t* label, double* second, bool* decided) const {
    if (n_ranked <= 1) {
      for (int i = 0; i < n_rows; ++i) {
        label[i] = 0;
        second[i] = std::numeric_limits<double>::infinity();
        decided[i] = n_ranked == 1;
      }
      return;
    }
    scratch.z32.resize(TILE * d);
    double sq_norm[TILE];
    for (int i = 0; i < n_rows; ++i) {
      float* z32 = scratch.z32.data() + i * d;
      double sum = 0.0;
      each(rows[i], [z32, &sum](int64_t t, double value) {
        z32[t] = static_cast<float>(value);
        sum += value * value;
      });
      sq_norm[i] = sum;
    }
    float best_score[TILE], second_score[TILE];
    int32_t index[TILE];
    rank_(scratch.z32.data(), n_rows, d, sites.panels32.data(), sites.half_norm32.data(), n_panels, best_score,
          second_score, index);
    for (int i = 0; i < n_rows; ++i) {
      const double error = exact::rank_error(std::sqrt(sq_norm[i]), sites.max_norm, d);
      const double gap = static_cast<double>(second_score[i]) - static_cast<double>(best_score[i]);
      label[i] = index[i];
      decided[i] = gap > 2.0 * error;
      second[i] = std::max(0.0, sq_norm[i] + 2.0 * (static_cast<double>(second_score[i]) - 2.0 * error));
    }
  }

  const T* X_;
  int64_t row_stride_, column_stride_;
  std::vector<double> anchor_, shift_;
  RankKernel rank_;
};

}  // namespace

template <class T>
std::unique_ptr<Rows> dense_rows(const T* X, int64_t n, int64_t d, int64_t row_stride, int64_t column_stride,
                                 std::vector<double> anchor, std::vector<double> shift, bool unit,
                                 const double* weight, RankKernel rank) {
  return std::make_unique<DenseRows<T>>(X, n, d, row_stride, column_stride, std::move(anchor), std::move(shift), unit,
                                        weight, rank);
}

template std::unique_ptr<Rows> dense_rows<float>(const float*, int64_t, int64_t, int64_t, int64_t, std::vector<double>,
                                                 std::vector<double>, bool, const double*, RankKernel);
template std::unique_ptr<Rows> dense_rows<double>(const double*, int64_t, int64_t, int64_t, int64_t,
                                                  std::vector<double>, std::vector<double>, bool, const double*,
                                                  RankKernel);

}  // namespace kfree
