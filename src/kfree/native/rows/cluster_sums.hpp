// Sums of clusters over some rows: a record of `width` numbers for each cluster that the rows touch.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/buffers.hpp"
#include "core/sum_tree.hpp"

namespace kfree {

class ClusterSums {
 public:
  // room: for how many clusters there is room at first.
  ClusterSums(Buffers& buffers, int64_t k, int64_t width, int64_t room);
  ~ClusterSums() { buffers_.give_back(std::move(buffer_)); }
  ClusterSums(const ClusterSums&) = delete;
  ClusterSums& operator=(const ClusterSums&) = delete;

  // In time proportional to the clusters touched.
  void clear();
  // The number of the record of cluster j, zeros if it was not touched before. It stays until `clear`.
  int32_t record_of(int32_t j) {
    if (record_[j] < 0) {
      open(j);
      std::fill_n(records() + record_[j] * width_, width_, 0.0);
    }
    return record_[j];
  }
  // The same, but a new one holds anything.
  int32_t record_to_fill(int32_t j) {
    if (record_[j] < 0) open(j);
    return record_[j];
  }
  // Records of zeros for all clusters, numbered like these; none was touched before.
  void open_all();
  // (·, width); moves when clusters are touched beyond the room.
  double* records() { return buffer_.data.get(); }
  // How many clusters were touched, and which: the record numbered r belongs to cluster touched()[r].
  const std::vector<int32_t>& touched() const { return touched_; }
  // The record of cluster j, or null.
  double* find(int64_t j) { return record_[j] < 0 ? nullptr : records() + record_[j] * width_; }
  void join(const ClusterSums& right);

 private:
  void open(int32_t j);
  void make_room(int64_t room);

  int64_t width_, room_;
  std::vector<int32_t> record_, touched_;
  Buffers& buffers_;
  Buffer buffer_;
};

using ClusterTree = SumTree<ClusterSums>;

// A cleared one, with room for as many clusters as that if it is new.
std::unique_ptr<ClusterSums> fresh_sums(ClusterTree& tree, Buffers& buffers, int64_t k, int64_t width,
                                        int64_t room = BLOCK);

// Joins what a tree holds to the sums of the `wanted` nodes or, if there are none, to the total, in parallel over
// clusters. Calls write(place of the node, j, record or null) for each of them and each cluster j.
void finish(ClusterTree& tree, const std::vector<TreeNode>& wanted, int64_t k, int64_t width, int n_threads,
            const std::function<void(int64_t, int64_t, const double*)>& write);

}  // namespace kfree
