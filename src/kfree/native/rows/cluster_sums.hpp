// Sums of clusters over some rows: a record of `width` numbers for each cluster that the rows touch.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/sum_tree.hpp"

namespace kfree {

class ClusterSums {
 public:
  // room: for how many clusters there is room at first.
  ClusterSums(int64_t k, int64_t width, int64_t room);

  // In time proportional to the clusters touched.
  void clear();
  // The number of the record of cluster j, zeros if it was not touched before. It stays until `clear`.
  int32_t record_of(int32_t j) {
    const size_t n_before = touched_.size();
    const int32_t record = record_to_fill(j);
    if (touched_.size() > n_before) std::fill_n(records() + record * width_, width_, 0.0);
    return record;
  }
  // The same, but a new one holds anything.
  int32_t record_to_fill(int32_t j) {
    if (record_[j] < 0) open(j);
    return record_[j];
  }
  // (·, width); moves when clusters are touched beyond the room.
  double* records() { return value_.get(); }
  // How many clusters were touched, and which: the record numbered r belongs to cluster touched()[r].
  const std::vector<int32_t>& touched() const { return touched_; }
  // The record of cluster j, or null.
  double* find(int64_t j) { return record_[j] < 0 ? nullptr : value_.get() + record_[j] * width_; }
  void join(const ClusterSums& right);

 private:
  void open(int32_t j);
  void make_room(int64_t room);

  int64_t width_, room_;
  std::vector<int32_t> record_, touched_;
  std::unique_ptr<double[]> value_;
};

using ClusterTree = SumTree<ClusterSums>;

// A cleared one, with room for as many clusters as that if it is new.
std::unique_ptr<ClusterSums> fresh_sums(ClusterTree& tree, int64_t k, int64_t width, int64_t room = BLOCK);

// Joins what a tree holds to the sums of the `wanted` nodes or, if there are none, to the total, in parallel over
// clusters. Calls write(place of the node, j, record or null) for each of them and each cluster j.
void finish(ClusterTree& tree, const std::vector<TreeNode>& wanted, int64_t k, int64_t width, int n_threads,
            const std::function<void(int64_t, int64_t, const double*)>& write);

}  // namespace kfree
