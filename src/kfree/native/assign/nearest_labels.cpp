// Labels alone, for rows that are seen once: without distances to the nearest site, bounds and statistics.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "assign/int8/prefilter.hpp"
#include "assign/passes.hpp"
#include "core/parallel.hpp"
#include "rows/site_tree.hpp"

namespace kfree {
namespace {

// Labels one piece after the other, on one thread.
class PieceLabels {
 public:
  PieceLabels(const Rows& rows, const Sites& sites, const QuantizedSites* quantized, TreeOnDemand& tree, Worker& worker,
              int32_t* label)
      : rows_(rows), sites_(sites), quantized_(quantized), tree_(tree), worker_(worker), label_(label) {}

  // Labels the rows begin…end−1; false if the call was stopped.
  bool find(int64_t begin, int64_t end) {
    n_prefiltered_ = 0;
    undecided_.clear();
    for (; begin < end && worth_a_prefilter() && worker_.go_on(); begin += TILE)
      prefilter(begin, static_cast<int>(std::min<int64_t>(TILE, end - begin)));
    for (; begin < end; ++begin) undecided_.push_back(begin);
    for (size_t i = 0; i < undecided_.size() && worker_.go_on(); i += TILE)
      rank_among_all(undecided_.data() + i, static_cast<int>(std::min<size_t>(TILE, undecided_.size() - i)));
    return worker_.go_on();
  }
  int64_t n_distances() const { return n_distances_; }

 private:
  bool worth_a_prefilter() const {
    return quantized_ && Bounds::worthwhile(n_prefiltered_, n_prefiltered_ - static_cast<int64_t>(undecided_.size()));
  }

  void prefilter(int64_t begin, int n_rows) {
    double lower[TILE];
    const int n_open = nearest_by_prefilter(rows_, {nullptr, begin}, n_rows, sites_, *quantized_, scratch_,
                                            label_ + begin, nullptr, lower, {});
    n_distances_ += (n_rows + n_open) * sites_.k;
    n_prefiltered_ += n_rows;
    for (int i = 0; i < n_rows; ++i)
      if (label_[begin + i] < 0) undecided_.push_back(begin + i);
  }

  void rank_among_all(const int64_t* rows, int n_rows) {
    if (const SiteTree* tree = tree_.get()) return search_tree(*tree, rows, n_rows);
    int32_t label[TILE];
    double sq_dist[TILE], second[TILE];
    rows_.nearest({rows, 0}, n_rows, sites_, sites_.k, scratch_, label, sq_dist, second);
    n_distances_ += n_rows * sites_.k;
    for (int i = 0; i < n_rows; ++i) label_[rows[i]] = label[i];
  }

  void search_tree(const SiteTree& tree, const int64_t* rows, int n_rows) {
    for (int i = 0; i < n_rows; ++i) {
      const NearestTwo found = nearest_two(rows_, rows[i], tree, scratch_);
      n_distances_ += found.n_visited;
      label_[rows[i]] = found.label;
    }
  }

  const Rows& rows_;
  const Sites& sites_;
  const QuantizedSites* quantized_;
  TreeOnDemand& tree_;
  Worker& worker_;
  int32_t* label_;
  Scratch scratch_;
  std::vector<int64_t> undecided_;
  int64_t n_distances_ = 0, n_prefiltered_ = 0;
};

}  // namespace

int64_t nearest_labels(const Rows& rows, const Sites& sites, const int32_t* number, int n_threads, int32_t* label) {
  std::atomic<int64_t> n_distances = 0;
  std::unique_ptr<const QuantizedSites> quantized;
  if (rows.prefilter_pays(sites.k)) quantized = rows.quantized(sites, nullptr, n_threads);
  TreeOnDemand tree(rows, sites);
  Blocks(n_blocks(rows.n, PIECE)).run(n_threads, [&](Worker& worker) {
    PieceLabels labels(rows, sites, quantized.get(), tree, worker, label);
    for (int64_t piece; (piece = worker.next()) >= 0;) {
      const int64_t begin = piece * PIECE, end = std::min(rows.n, begin + PIECE);
      if (!labels.find(begin, end)) return;
      for (int64_t row = begin; row < end; ++row) label[row] = number[label[row]];
    }
    n_distances += labels.n_distances();
  });
  return n_distances;
}

}  // namespace kfree
