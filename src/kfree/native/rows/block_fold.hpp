// Sums over rows in ascending order, as the tree of blocks makes them: a block in row order, nodes as left + right.
// Everything that is added up lies in the first-level cache, however many clusters there are.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "rows/rows.hpp"

namespace kfree {

// Source: set(row, weight, sum) puts weight·z into sum (d,), add(row, weight, sum) adds it, and prefetch(row) says that the
// row will be asked for soon.
template <class Source>
class BlockFold {
 public:
  BlockFold(const ByCluster& rows, int64_t first_block, int64_t d, Source source)
      : rows_(rows), first_block_(first_block), width_(d + 2), n_added_(width_), room_(rows.level * width_),
        n_ahead_(std::clamp<int64_t>(VALUES_AHEAD / std::max<int64_t>(d, 1), 1, 8)), source_(source) {}

  // out record (n_clusters, d + 2), with zeros for sums of coordinates that are known
  void write(double* record) {
    for (int64_t r = 0; r < rows_.n_clusters; ++r) {
      n_added_ = rows_.is_known && rows_.is_known[r] ? 2 : width_;
      node(rows_.begin[r], rows_.begin[r + 1], rows_.level, record + r * width_);
      std::fill(record + r * width_ + n_added_, record + (r + 1) * width_, 0.0);
    }
  }

 private:
  // out sum (d + 2,) of the rows begin…end−1, one at least, which lie below one node of this level
  void node(int64_t begin, int64_t end, int level, double* sum) {
    const int64_t block = rows_.row[begin] / BLOCK;
    if (level == 0 || rows_.row[end - 1] / BLOCK == block) return one_block(begin, end, sum);
    const TreeNode parent{level, (first_block_ + block) >> level};
    const int64_t middle = ((parent.begin() + parent.end()) / 2 - first_block_) * BLOCK;
    const int64_t right = std::lower_bound(rows_.row + begin, rows_.row + end, middle) - rows_.row;
    if (right == begin || right == end) return node(begin, end, level - 1, sum);
    node(begin, right, level - 1, sum);
    // A single row is a sum already.
    if (end - right == 1) return add(right, sum);
    double* other = room_.data() + (level - 1) * width_;
    node(right, end, level - 1, other);
    for (int64_t t = 0; t < n_added_; ++t) sum[t] += other[t];
  }

  void one_block(int64_t begin, int64_t end, double* sum) {
    if (has_sum()) ask_for_later(begin);
    // + 0.0, because sums begin with zero, and a sum of −0.0 alone is 0.0.
    sum[0] = rows_.weight[begin] + 0.0;
    sum[1] = weighted_sq_dist(begin) + 0.0;
    if (has_sum()) source_.set(rows_.row[begin], rows_.weight[begin], sum + 2);
    for (int64_t i = begin + 1; i < end; ++i) add(i, sum);
  }

  void add(int64_t i, double* sum) {
    sum[0] += rows_.weight[i];
    sum[1] += weighted_sq_dist(i);
    if (!has_sum()) return;
    ask_for_later(i);
    source_.add(rows_.row[i], rows_.weight[i], sum + 2);
  }

  bool has_sum() const { return n_added_ == width_; }

  double weighted_sq_dist(int64_t i) const { return weighed(rows_.weight[i], rows_.sq_dist[i]); }

  void ask_for_later(int64_t i) const {
    source_.prefetch(rows_.row[std::min(i + n_ahead_, rows_.begin[rows_.n_clusters] - 1)]);
  }

  static constexpr int64_t VALUES_AHEAD = 1024;
  const ByCluster& rows_;
  const int64_t first_block_, width_;
  int64_t n_added_;  // numbers of a record of this cluster that are added up
  std::vector<double> room_;  // (level, d + 2): a right child for each level
  const int64_t n_ahead_;     // rows that are asked for before they are needed
  Source source_;
};

}  // namespace kfree
