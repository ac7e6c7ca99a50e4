// Sums over rows in ascending order, as the tree of blocks makes them: a block in row order, nodes as left + right.
// Everything that is added up lies in the first-level cache, however many clusters there are.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "rows/rows.hpp"

namespace kfree {

template <class AddRow>
class BlockFold {
 public:
  // add_row(row, weight, sum) adds weight·z to sum (d,).
  BlockFold(const ByCluster& rows, int64_t first_block, int64_t d, AddRow add_row)
      : rows_(rows), first_block_(first_block), width_(d + 2), room_(rows.level * width_), add_row_(add_row) {}

  // out record (n_clusters, d + 2)
  void write(double* record) {
    for (int64_t r = 0; r < rows_.n_clusters; ++r)
      node(rows_.begin[r], rows_.begin[r + 1], rows_.level, record + r * width_);
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
    double* other = room_.data() + (level - 1) * width_;
    node(begin, right, level - 1, sum);
    node(right, end, level - 1, other);
    for (int64_t t = 0; t < width_; ++t) sum[t] += other[t];
  }

  void one_block(int64_t begin, int64_t end, double* sum) {
    std::fill_n(sum, width_, 0.0);
    for (int64_t i = begin; i < end; ++i) {
      const double w = rows_.weight[i];
      sum[0] += w;
      sum[1] += w != 0.0 ? w * rows_.sq_dist[i] : 0.0;  // which may be infinite, and not count
      add_row_(rows_.row[i], w, sum + 2);
    }
  }

  const ByCluster& rows_;
  const int64_t first_block_, width_;
  std::vector<double> room_;  // (level, d + 2): a right child for each level
  AddRow add_row_;
};

}  // namespace kfree
