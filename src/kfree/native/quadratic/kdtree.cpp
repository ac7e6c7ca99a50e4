// How a kd-tree is made.
#include "quadratic/kdtree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace kfree {
namespace {

// So many subtrees at least, if there are rows for them, whatever the number of threads: results must not depend on it.
constexpr size_t PARTS = 32;

}  // namespace

KdTree::KdTree(const double* rows, int64_t n, int64_t d, int64_t leaf_size) : d_(d), order_(n) {
  std::iota(order_.begin(), order_.end(), int64_t{0});
  grow(rows, std::max<int64_t>(leaf_size, 1));
  measure(rows);
  choose_parts();
}

// Children come after their parents, so the list of nodes is its own queue.
void KdTree::grow(const double* rows, int64_t leaf_size) {
  nodes_.push_back({0, static_cast<int64_t>(order_.size()), -1});
  for (int64_t node = 0; node < static_cast<int64_t>(nodes_.size()); ++node) {
    enclose(rows, node);
    if (nodes_[node].end - nodes_[node].begin > leaf_size) divide(rows, node);
  }
}

void KdTree::enclose(const double* rows, int64_t node) {
  std::vector<double> low(d_, std::numeric_limits<double>::infinity()), high(d_, -low[0]);
  for (int64_t i = nodes_[node].begin; i < nodes_[node].end; ++i) {
    const double* row = rows + order_[i] * d_;
    for (int64_t t = 0; t < d_; ++t) {
      low[t] = std::min(low[t], row[t]);
      high[t] = std::max(high[t], row[t]);
    }
  }
  for (int64_t t = 0; t < d_; ++t) {
    const double middle = low[t] + (high[t] - low[t]) / 2;
    // A little more than half, so that rounding leaves no row outside.
    const double reach = std::max(high[t] - middle, middle - low[t]) * (1 + 4 * std::numeric_limits<double>::epsilon());
    middle_.push_back(middle);
    reach_.push_back(reach);
  }
}

// At the median of the widest side. Rows that are all equal stay together.
void KdTree::divide(const double* rows, int64_t node) {
  const double* reach = reach_.data() + node * d_;
  const int64_t side = std::max_element(reach, reach + d_) - reach;
  if (reach[side] == 0.0) return;
  const int64_t begin = nodes_[node].begin, end = nodes_[node].end, half = begin + (end - begin) / 2;
  std::nth_element(order_.begin() + begin, order_.begin() + half, order_.begin() + end,
                   [&](int64_t a, int64_t b) { return rows[a * d_ + side] < rows[b * d_ + side]; });
  nodes_[node].left = nodes_.size();
  nodes_.push_back({begin, half, -1});
  nodes_.push_back({half, end, -1});
}

MomentsOut KdTree::node_moments() const {
  return {n_.data(), sum_.data(), scatter_.data(), static_cast<int64_t>(nodes_.size()), d_};
}

void KdTree::measure(const double* rows) {
  n_.resize(nodes_.size());
  sum_.resize(nodes_.size() * d_);
  scatter_.resize(nodes_.size() * d_ * d_);
  std::vector<double> ordered;
  std::vector<int32_t> together;
  for (int64_t node = nodes_.size() - 1; node >= 0; --node) {
    const Node& at = nodes_[node];
    if (at.left >= 0) {
      join_moments(node_moments(), node, node_moments(), at.left);
      join_moments(node_moments(), node, node_moments(), at.left + 1);
      continue;
    }
    ordered.clear();
    for (int64_t i = at.begin; i < at.end; ++i)
      ordered.insert(ordered.end(), rows + order_[i] * d_, rows + (order_[i] + 1) * d_);
    together.assign(at.end - at.begin, 0);
    moments(ordered.data(), at.end - at.begin, together.data(), 1,
            {n_.data() + node, sum_.data() + node * d_, scatter_.data() + node * d_ * d_, 1, d_});
  }
}

void KdTree::choose_parts() {
  parts_ = {0};
  for (bool divided = true; divided && parts_.size() < PARTS;) {
    std::vector<int64_t> finer;
    for (int64_t node : parts_) {
      const int64_t left = nodes_[node].left;
      if (left < 0) finer.push_back(node);
      else finer.insert(finer.end(), {left, left + 1});
    }
    divided = finer.size() > parts_.size();
    parts_ = std::move(finer);
  }
}

}  // namespace kfree
