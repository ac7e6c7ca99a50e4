// Sums over blocks of rows, joined by a fixed binary tree over block numbers: node (level, index) covers the blocks
// index·2^level … (index + 1)·2^level − 1 and is left + right; an absent block is skipped. So neither the number of threads
// nor a cut of the rows at block boundaries changes a bit of a sum.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace kfree {

// Rows of one block of summation; part of the definition of a result, not only of its speed. A larger block means fewer
// sums to join, a smaller one more threads that can add up. Measured on one thread of a Neoverse N1: processor time of
// a later pass of k-means, in milliseconds, while memory for sums was still new in each pass and rows of 256 columns or
// more were added up like others. With 2048 these two have made it 42.9, 3.44 and 126 since; the last column was 44.4,
// 3.52 and 142 then.
//                         1024   2048   4096   left to right in blocks of 1024
//   100,000 × 128 k=1000  51.7   49.2   46.1   44.9
//   200,000 × 2   k=100   3.43   3.25   3.19   3.37
//    50,000 × 768 k=1000   162    157    140    122
// With 2048, 16 threads have 8 blocks each from 262,144 rows on; rows are assigned in smaller pieces.
constexpr int64_t BLOCK = 2048;

struct TreeNode {
  int level;
  int64_t index;

  int64_t begin() const { return index << level; }
  int64_t end() const { return (index + 1) << level; }
  TreeNode parent() const { return {level + 1, index >> 1}; }
  TreeNode sibling() const { return {level, index ^ 1}; }
  bool is_left() const { return index % 2 == 0; }
};

// The fewest nodes that cover the blocks begin…end−1, in order: at most 2·log2(end − begin) of them.
std::vector<TreeNode> nodes_covering(int64_t begin, int64_t end);

// sum[into] += sum[from]
struct Join {
  size_t into, from;
};

// The joins that add up nodes, given in the order of their blocks: the total is left at the place of the first.
std::vector<Join> joins_of(const std::vector<TreeNode>& nodes);

// Sums of all blocks begin…end−1, which come in any order and from any thread. The thread that adds the second of two
// siblings joins them, so that no more than (threads + 1)·(log2(blocks) + 1) + MOST_TOP sums are held at a time. The
// uppermost nodes are not joined here: they are few, and all threads join them in parallel.
// A Sum has `void join(const Sum& right)`.
template <class Sum>
class SumTree {
 public:
  struct Node {
    TreeNode at;
    std::unique_ptr<Sum> sum;  // null where there was nothing to add up
  };

  SumTree(int64_t begin, int64_t end) {
    while ((end - begin) >> top_level_ > MOST_TOP) ++top_level_;
  }

  // A sum that is no longer needed, to be used again; null if there is none.
  std::unique_ptr<Sum> spare() {
    std::lock_guard lock(mutex_);
    if (spare_.empty()) return nullptr;
    auto sum = std::move(spare_.back());
    spare_.pop_back();
    return sum;
  }

  // The sum of a node; every block once.
  void put(TreeNode at, std::unique_ptr<Sum> sum) {
    for (std::unique_ptr<Sum> other; take_sibling(at, sum, other); at = at.parent()) {
      if (!sum || (other && !at.is_left())) std::swap(sum, other);  // left + right, whichever came first
      if (sum && other) sum->join(*other);
      if (other) give_back(std::move(other));
    }
  }

  // The total once all blocks are added, joined on the calling thread: for sums that are small, or few. Null if there
  // was nothing to add up.
  std::unique_ptr<Sum> total() {
    std::vector<Node> left = nodes();
    std::vector<TreeNode> places;
    for (const Node& node : left) places.push_back(node.at);
    for (const Join& join : joins_of(places)) {
      auto &into = left[join.into].sum, &from = left[join.from].sum;
      if (!into) std::swap(into, from);
      if (into && from) into->join(*from);
    }
    return left.empty() ? nullptr : std::move(left[0].sum);
  }

  // The remaining nodes once all blocks are added, in their order.
  std::vector<Node> nodes() {
    std::vector<Node> nodes;
    for (auto& [begin, node] : waiting_) nodes.push_back(std::move(node));
    waiting_.clear();
    return nodes;
  }

 private:
  static constexpr int64_t MOST_TOP = 8;

  // Takes out the sibling of a node, or leaves the node to wait for it.
  bool take_sibling(TreeNode at, std::unique_ptr<Sum>& sum, std::unique_ptr<Sum>& other) {
    std::lock_guard lock(mutex_);
    const auto found = waiting_.find(at.sibling().begin());
    if (at.level < top_level_ && found != waiting_.end() && found->second.at.level == at.level) {
      other = std::move(found->second.sum);
      waiting_.erase(found);
      return true;
    }
    waiting_.emplace(at.begin(), Node{at, std::move(sum)});
    return false;
  }

  void give_back(std::unique_ptr<Sum> sum) {
    std::lock_guard lock(mutex_);
    spare_.push_back(std::move(sum));
  }

  int top_level_ = 0;
  std::mutex mutex_;
  std::map<int64_t, Node> waiting_;  // by first block
  std::vector<std::unique_ptr<Sum>> spare_;
};

}  // namespace kfree
