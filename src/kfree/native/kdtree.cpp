#include "kdtree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "parallel.hpp"

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

// One thread's way down the tree.
class Descent {
 public:
  Descent(const KdTree& tree, const double* rows, const Quadratics& q, int32_t* label)
      : tree_(tree), rows_(rows), q_(q), label_(label), tile_(q.d), view_(q.k), n_(q.k), sum_(q.k * q.d),
        scatter_(q.k * q.d * q.d), gap_(q.d), y_(q.d), no_scatter_(q.d * q.d) {
    for (View& view : view_) view.gradient.resize(q.d);
  }

  MomentsOut found() { return {n_.data(), sum_.data(), scatter_.data(), q_.k, q_.d}; }

  void clear() {
    for (auto* part : {&n_, &sum_, &scatter_}) std::fill(part->begin(), part->end(), 0.0);
  }

  // All rows below `node` to their clusters, which are among `candidates`.
  void descend(int64_t node, std::vector<int32_t> candidates) {
    const KdTree::Node& at = tree_.nodes_[node];
    if (candidates.size() > 1) blacklist(node, candidates);
    if (candidates.size() == 1) return own(node, candidates[0]);
    if (at.left < 0) return one_by_one(node, candidates);
    descend(at.left, candidates);
    descend(at.left + 1, std::move(candidates));
  }

  int64_t n_evaluations = 0;

 private:
  // A cluster's cost over a box of centre p and half-widths h is value + 2·gradient·u + ‖F u‖² with |u| ≤ h.
  struct View {
    double value, reach_sq, magnitude, lower;
    std::vector<double> gradient;
  };

  void look(int64_t node, int32_t c);
  void blacklist(int64_t node, std::vector<int32_t>& candidates);

  void own(int64_t node, int32_t c) {
    const KdTree::Node& at = tree_.nodes_[node];
    std::fill(label_ + at.begin, label_ + at.end, c);
    join_moments(found(), c, tree_.node_moments(), node);
  }

  void one_by_one(int64_t node, const std::vector<int32_t>& candidates) {
    const int64_t first = tree_.nodes_[node].begin, end = tree_.nodes_[node].end;
    n_evaluations += (end - first) * candidates.size();
    for (int64_t begin = first; begin < end; begin += Tile::LANES) {
      const int64_t m = std::min<int64_t>(Tile::LANES, end - begin);
      tile_.take(rows_, begin, m);
      for (int32_t c : candidates) tile_.hold_against(q_, c);
      std::copy(tile_.label, tile_.label + m, label_ + begin);
    }
    const int32_t owner = label_[first];
    if (std::all_of(label_ + first, label_ + end, [&](int32_t c) { return c == owner; })) return own(node, owner);
    double one = 1.0;
    for (int64_t i = first; i < end; ++i)
      join_moments(found(), label_[i], {&one, const_cast<double*>(rows_) + i * q_.d, no_scatter_.data(), 1, q_.d}, 0);
  }

  const KdTree& tree_;
  const double* rows_;
  const Quadratics& q_;
  int32_t* label_;
  Tile tile_;
  std::vector<View> view_;
  std::vector<double> n_, sum_, scatter_, gap_, y_, no_scatter_;
};

void Descent::look(int64_t node, int32_t c) {
  const int64_t d = q_.d;
  const double *middle = tree_.middle_.data() + node * d, *reach = tree_.reach_.data() + node * d;
  const double *centre = q_.centre + c * d, *factor = q_.factor + c * d * d;
  View& view = view_[c];
  std::fill(view.gradient.begin(), view.gradient.end(), 0.0);
  double sq_dist = 0.0, reach_sq = 0.0, magnitude = 0.0, slope = 0.0;
  for (int64_t t = 0; t < d; ++t) gap_[t] = middle[t] - centre[t];
  for (int64_t i = 0; i < d; ++i) {
    double y = 0.0, farthest = 0.0, largest = 0.0;
    for (int64_t j = 0; j <= i; ++j) {
      const double f = factor[i * d + j], size = std::fabs(f);
      y += f * gap_[j];
      farthest += size * reach[j];
      largest += size * (std::fabs(gap_[j]) + reach[j]);
    }
    for (int64_t j = 0; j <= i; ++j) view.gradient[j] += factor[i * d + j] * y;
    sq_dist += y * y;
    reach_sq += farthest * farthest;
    magnitude += largest * largest;
  }
  for (int64_t t = 0; t < d; ++t) slope += std::fabs(view.gradient[t]) * reach[t];
  const double nearest = std::max(0.0, std::sqrt(sq_dist) - std::sqrt(reach_sq));
  view.value = sq_dist + q_.offset[c];
  view.reach_sq = reach_sq;
  view.magnitude = magnitude + std::fabs(q_.offset[c]);
  // The tangent plane lies below the cost, and so does what the farthest step towards the centre leaves.
  view.lower = q_.offset[c] + std::max(sq_dist - 2 * slope, nearest * nearest);
}

// Strikes off what costs more than the cluster that is cheapest in the middle, everywhere in the box.
void Descent::blacklist(int64_t node, std::vector<int32_t>& candidates) {
  n_evaluations += candidates.size();
  for (int32_t c : candidates) look(node, c);
  const int32_t first = *std::min_element(candidates.begin(), candidates.end(), [&](int32_t a, int32_t b) {
    return view_[a].value < view_[b].value;
  });
  const View& best = view_[first];
  const double* reach = tree_.reach_.data() + node * q_.d;
  double slope = 0.0;
  for (int64_t t = 0; t < q_.d; ++t) slope += std::fabs(best.gradient[t]) * reach[t];
  const double upper = best.value + 2 * slope + best.reach_sq;
  const double rounding = 16 * (q_.d + 4) * std::numeric_limits<double>::epsilon();
  const auto dearer = [&](int32_t c) {
    if (c == first) return false;
    const View& view = view_[c];
    const double doubt = rounding * (view.magnitude + best.magnitude);
    if (view.lower - upper > doubt) return true;
    // The costs often rise together, so their difference is known better than either.
    double parting = 0.0;
    for (int64_t t = 0; t < q_.d; ++t) parting += std::fabs(view.gradient[t] - best.gradient[t]) * reach[t];
    return view.value - best.value - 2 * parting - best.reach_sq > doubt;
  };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), dearer), candidates.end());
}

int64_t KdTree::assign(const double* rows, const Quadratics& q, int n_threads, int32_t* label,
                       const MomentsOut& out) const {
  std::fill(out.n, out.n + q.k, 0.0);
  std::fill(out.sum, out.sum + q.k * q.d, 0.0);
  std::fill(out.scatter, out.scatter + q.k * q.d * q.d, 0.0);
  std::vector<int32_t> everyone(q.k);
  std::iota(everyone.begin(), everyone.end(), 0);
  int64_t n_evaluations = 0;
  Blocks(parts_.size()).run(n_threads, [&](Worker& worker) {
    Descent descent(*this, rows, q, label);
    for (int64_t part; (part = worker.next()) >= 0;) {
      descent.clear();
      descent.n_evaluations = 0;
      descent.descend(parts_[part], everyone);
      worker.in_turn(part, [&] {
        n_evaluations += descent.n_evaluations;
        for (int64_t c = 0; c < q.k; ++c) join_moments(out, c, descent.found(), c);
      });
    }
  });
  return n_evaluations;
}

}  // namespace kfree
