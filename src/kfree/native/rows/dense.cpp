// Dense rows: coordinates are made on the fly from the caller's array, whatever its strides.
#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "assign/int8/quantize.hpp"
#include "rows/block_fold.hpp"
#include "rows/dense_loops.hpp"
#include "rows/scored.hpp"

namespace kfree {
namespace {

template <class T>
class DenseRows final : public Rows {
 public:
  DenseRows(const T* X, int64_t n, int64_t d, int64_t row_stride, int64_t column_stride, std::vector<double> anchor,
            std::vector<double> shift, bool unit, const double* weight, int64_t first_block, const Ranker& ranker)
      : Rows(n, d, unit ? Centres::DIRECTIONS : Centres::MEANS, weight, first_block), X_(X), row_stride_(row_stride), column_stride_(column_stride),
        anchor_(std::move(anchor)), shift_(std::move(shift)), ranker_(ranker), loops_(loops_of(ranker.dense)), rank_error_(d) {
    if (unit)
      measure_lengths([&](int64_t row) {
        return exact::length([&](auto visit) {
          for (int64_t t = 0; t < d; ++t) visit(t, static_cast<double>(X[row * row_stride + t * column_stride]));
        });
      });
    if (!ranker_.int8) return;
    const Int8Kernel& int8 = ranker_.int8->for_rows_of(d);
    if (plain32())
      quantizer_.emplace(*this, int8, anchor_.data(), shift_.data());
    else
      quantizer_.emplace(*this, int8);
  }

  bool has_coordinates() const override { return true; }

  void copy(int64_t row, double* z) const override { loops_.copy(data(), row, z); }

  void add(RowSet rows, int64_t n_rows, const double* weight, const double* sq_dist, const int32_t* record,
           double* records) const override {
    loops_.add(data(), rows, n_rows, weight, sq_dist, record, records);
  }

  void add_up(const ByCluster& rows, double* record) const override {
    BlockFold(rows, first_block, d, Source{*this, data()}).write(record);
  }

  void sq_dists(RowSet rows, int64_t n_rows, const Sites& sites, const int32_t* label,
                double* sq_dist) const override {
    loops_.sq_dists(data(), rows, n_rows, sites.centre.data(), label, sq_dist);
  }

  void focus(int64_t row, Scratch& scratch) const override {
    scratch.z.resize(d);
    copy(row, scratch.z.data());
  }

  void sq_dist_panel(const Scratch& scratch, const Sites& sites, int64_t p, double* sq_dist) const override {
    ranker_.dense.sq_dist_panel(scratch.z.data(), sites.panel(p), d, sq_dist);
  }

  void nearest(RowSet rows, int n_rows, const Sites& sites, int64_t n_sites, Scratch& scratch, int32_t* label,
               double* sq_dist, double* second, Known known) const override {
    if (is_narrow(n_sites) && d <= TINY_COLUMNS && n_sites <= PANEL)
      return loops_.nearest_of_few(data(), rows, n_rows, sites.centre.data(), n_sites, label, sq_dist, second);
    // Ranking takes whole panels; the youngest sites of an incomplete panel are compared with the winner one by one.
    const int64_t n_panels = n_sites == sites.k ? sites.n_panels() : n_sites / PANEL;
    const int64_t n_ranked = std::min(n_panels * PANEL, n_sites);
    Scored scored;
    const Ranked ranked = {sites.panels32.data(), sites.half_norm32.data(), n_ranked, sites.max_norm()};
    bool all_scored = n_ranked > 1 && keeps_scores(n_ranked);
    if (all_scored)
      rank_scores(rows, n_rows, sites, ranked, n_panels, scratch, scored);
    else if (n_ranked > 1)
      score_tile(rows, n_rows, ranked, scratch, scored);
    int64_t decided[TILE];
    if (n_ranked > 1) {
      const int n_decided = decide(n_rows, sites, scored, label, decided, second);
      sq_dists_unless(known, rows, n_rows, sites, label, sq_dist);
      if (n_decided == n_rows && n_ranked == n_sites) return;
    } else {
      std::fill_n(label, n_rows, 0);
      std::fill_n(second, n_rows, std::numeric_limits<double>::infinity());
      if (n_ranked > 0)
        sq_dists_unless(known, rows, n_rows, sites, label, sq_dist);
      else
        std::fill_n(sq_dist, n_rows, std::numeric_limits<double>::infinity());
    }
    for (int i = 0; i < n_rows; ++i) {
      if (n_ranked > 1 && !decided[i]) {
        if (!all_scored) score_all(rows, n_rows, sites, n_panels, n_ranked, scratch);
        all_scored = true;
        const auto score = [&](int64_t j) { return scratch.scores[(j / PANEL * TILE + i) * PANEL + j % PANEL]; };
        const auto sq_dist_to = [&](int64_t j) { return Rows::sq_dist(rows[i], sites, static_cast<int32_t>(j)); };
        scored.decide(i, sites, n_ranked, rank_error_, score, sq_dist_to, label[i], sq_dist[i], second[i]);
      }
      if (n_ranked < n_sites) improve(rows[i], sites, n_ranked, n_sites, scratch, label[i], sq_dist[i], second[i]);
    }
  }

  bool ranks_narrow(int64_t k) const override { return is_narrow(k); }

  bool prefilter_pays(int64_t k) const override { return quantizer_ && quantizer_->pays(k); }

  std::unique_ptr<const QuantizedSites> quantized(const Sites& sites, const Subset* some,
                                                  int n_threads) const override {
    return quantizer_ ? quantizer_->quantized(sites, some, n_threads) : nullptr;
  }

  void quantize(RowSet rows, int n_rows, const QuantizedSites& sites, Scratch& scratch,
                QuantizedTile& tile) const override {
    scratch.quantized.resize(TILE * sites.stride());
    const auto quantized = [&](auto row_of) {
      quantizer_->quantize(row_of, n_rows, sites, scratch.quantized.data(), tile);
    };
    if constexpr (std::is_same_v<T, float>)
      if (plain32()) return quantized([&](int i) { return X_ + rows[i] * row_stride_; });
    quantized([&](int i) {
      focus(rows[i], scratch);
      scratch.z32.assign(scratch.z.begin(), scratch.z.end());
      return scratch.z32.data();
    });
  }

  void sq_dists_in_any_order(int64_t row, const Sites& sites, const int32_t* some, int n, Scratch& scratch,
                             double* sq_dist) const override {
    focus(row, scratch);
    ranker_.dense.sq_dists_in_any_order(scratch.z.data(), d, sites.centre.data(), some, n, sq_dist);
  }

  void lower_among(RowSet rows, int n_rows, const Sites& sites, const Subset& some, const int32_t* label,
                   Scratch& scratch, double* lower) const override {
    Scored scored;
    const auto n_some = static_cast<int64_t>(some.id.size());
    score_tile(rows, n_rows,
               {some.panels32.data(), some.half_norm32.data(), n_some, sites.max_norm()}, scratch, scored);
    for (int i = 0; i < n_rows; ++i) scored.error[i] = rank_error_.of_row(scored.sq_norm[i], sites.max_norm());
    for (int i = 0; i < n_rows; ++i) lower[i] = scored.lower_but(label[i], i, some, d);
  }

  void add_potentials(int64_t begin, int n_rows, const Sites& candidates, const double* sq_dist, Scratch& scratch,
                      double* potential, double* error, char* may_gain) const override {
    double sq_norm[TILE];
    float score[PANEL * TILE];
    pack({nullptr, begin}, n_rows, TILE, scratch, sq_norm);
    ranker_.score_few(scratch.z32.data(), d, candidates.panels32.data(), candidates.half_norm32.data(), candidates.k, score);
    const double max_norm = candidates.max_norm(), site_error = rank_error_.of_site(max_norm * max_norm);
    const auto shares = rank_error_.shares(max_norm);
    const ScoredTile tile = {score, sq_norm, weight_ ? weight_ + begin : nullptr, sq_dist,
                             4.0 * shares.row_factor, 4.0 * (shares.row_least + site_error), shares.most_sq_norm};
    ranker_.dense.add_potentials(tile, n_rows, candidates.k, potential, error, may_gain);
  }

 private:
  // Sites to rank.
  struct Ranked {
    const float *panels, *half_norm;
    int64_t n_sites;
    double max_norm;
  };

  // Rows for BlockFold. They are read in no order, so they are prefetched.
  struct Source {
    const DenseRows& rows;
    const DenseData<T> data;

    void set(int64_t row, double weight, double* sum) const { rows.loops_.set_row(data, row, weight, sum); }
    void add(int64_t row, double weight, double* sum) const { rows.loops_.add_row(data, row, weight, sum); }
    void prefetch(int64_t row) const {
      constexpr int64_t LINE = 64 / sizeof(T);  // values in a line of a cache
      if (data.column_stride == 1)
        for (int64_t t = 0; t < data.d; t += LINE) __builtin_prefetch(data.X + row * data.row_stride + t);
    }
  };

  // Whether rows are ranked with a row in each lane: that takes longer for each site, and less at the end.
  bool is_narrow(int64_t n_sites) const { return 0 < d && d <= ranker_.narrow_columns && n_sites <= 8 * PANEL; }
  // Whether rows can be quantized as they lie; others are copied first.
  bool plain32() const { return std::is_same_v<T, float> && column_stride_ == 1 && centres == Centres::MEANS; }

  DenseData<T> data() const {
    return {X_, d, row_stride_, column_stride_, anchor_.data(), shift_.data(), lengths_.empty() ? nullptr : lengths_.data()};
  }

  // Whether all scores are kept for the rows that ranking leaves open: of many columns, computing them again takes much
  // longer than finding the two lowest among them. Those of a tile stay in a second-level cache.
  bool keeps_scores(int64_t n_sites) const { return d >= 512 && n_sites <= 2048; }

  // What score_tile gives, from all scores.
  void rank_scores(RowSet rows, int n_rows, const Sites& sites, const Ranked& ranked, int64_t n_panels,
                   Scratch& scratch, Scored& scored) const {
    pack(rows, n_rows, ranker_.group, scratch, scored.sq_norm);
    score_all(rows, n_rows, sites, n_panels, ranked.n_sites, scratch);
    for (int i = 0; i < n_rows; ++i) scored.find_lowest(i, scratch.scores.data(), ranked.n_sites);
  }

  // All scores of a packed tile, into scratch.scores (n_panels, TILE, PANEL).
  void score_all(RowSet rows, int n_rows, const Sites& sites, int64_t n_panels, int64_t n_ranked,
                 Scratch& scratch) const {
    double sq_norm[TILE];
    if (is_narrow(n_ranked)) pack(rows, n_rows, ranker_.group, scratch, sq_norm);  // as `score` wants them
    scratch.scores.resize(n_panels * TILE * PANEL);
    for (int64_t p = 0; p < n_panels; ++p)
      ranker_.score(scratch.z32.data(), n_rows, d, sites.panels32.data() + p * d * PANEL,
                    sites.half_norm32.data() + p * PANEL, rank_error_.lowered(),
                    scratch.scores.data() + p * TILE * PANEL);
  }

  // Which of the rows ranking decides; returns their number. out label (n_rows,), 0 for others; scored.error;
  // decided (TILE,), 1 or 0; second (n_rows,): squared distances that no other site's are less than
  int decide(int n_rows, const Sites& sites, Scored& scored, int32_t* label, int64_t* decided, double* second) const {
    const auto shares = rank_error_.shares(sites.max_norm());
    double bound[TILE];
    const int n_decided = ranker_.dense.decide(
        {scored.best, scored.second, scored.index, scored.sq_norm, sites.sq_norm.data(), shares.row_factor,
         shares.row_least, shares.most_sq_norm, shares.site_factor},
        n_rows, scored.error, decided, bound);
    for (int i = 0; i < n_rows; ++i) label[i] = scored.index[i] & -static_cast<int32_t>(decided[i]);
    std::copy_n(bound, n_rows, second);
    return n_decided;
  }

  // out scored, but its errors
  void score_tile(RowSet rows, int n_rows, const Ranked& sites, Scratch& scratch, Scored& scored) const {
    pack(rows, n_rows, is_narrow(sites.n_sites) ? TILE : ranker_.group, scratch, scored.sq_norm);
    if (is_narrow(sites.n_sites))
      ranker_.rank_narrow(scratch.z32.data(), n_rows, d, sites.panels, sites.half_norm, rank_error_.lowered(),
                          sites.n_sites, scored.best, scored.second, scored.index);
    else
      ranker_.rank(scratch.z32.data(), n_rows, d, sites.panels, sites.half_norm, rank_error_.lowered(), sites.n_sites,
                   scored.best, scored.second, scored.index);
  }

  // The rows of a tile as the ranking kernels want them, and their squared norms.
  void pack(RowSet rows, int n_rows, int group, Scratch& scratch, double* sq_norm) const {
    scratch.z32.resize(TILE * d);
    loops_.pack(data(), rows, n_rows, group, scratch.z32.data(), sq_norm);
  }

  static const DenseLoops<T>& loops_of(const DenseKernels& dense) {
    if constexpr (std::is_same_v<T, float>)
      return dense.loops32;
    else
      return dense.loops64;
  }

  const T* X_;
  int64_t row_stride_, column_stride_;
  std::vector<double> anchor_, shift_;
  const Ranker& ranker_;
  const DenseLoops<T>& loops_;
  const exact::RankError rank_error_;
  std::optional<Quantizer> quantizer_;  // where there are kernels for the prefilter
};

}  // namespace

template <class T>
std::unique_ptr<Rows> dense_rows(const T* X, int64_t n, int64_t d, int64_t row_stride, int64_t column_stride,
                                 std::vector<double> anchor, std::vector<double> shift, bool unit,
                                 const double* weight, int64_t first_block, const Ranker& ranker) {
  return std::make_unique<DenseRows<T>>(X, n, d, row_stride, column_stride, std::move(anchor), std::move(shift), unit,
                                        weight, first_block, ranker);
}

#define KFREE_DENSE(T)                                                                                       \
  template std::unique_ptr<Rows> dense_rows<T>(const T*, int64_t, int64_t, int64_t, int64_t,                 \
                                               std::vector<double>, std::vector<double>, bool, const double*, \
                                               int64_t, const Ranker&);
KFREE_DENSE(float)
KFREE_DENSE(double)

}  // namespace kfree
