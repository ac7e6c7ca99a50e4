// Assignment of rows by a kd-tree: boxes that one cluster owns in one step, other rows one by one.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "quadratic/kdtree.hpp"
#include "core/parallel.hpp"
#include "core/sum_tree.hpp"

namespace kfree {

// Moments of all clusters over some of the subtrees.
class PartMoments {
 public:
  PartMoments(int64_t k, int64_t d) : k_(k), d_(d), n_(k), sum_(k * d), scatter_(k * d * d) {}

  MomentsOut out() { return {n_.data(), sum_.data(), scatter_.data(), k_, d_}; }
  void clear() {
    for (auto* part : {&n_, &sum_, &scatter_}) std::fill(part->begin(), part->end(), 0.0);
  }
  void join(PartMoments& right) {
    for (int64_t c = 0; c < k_; ++c) join_moments(out(), c, right.out(), c);
  }

 private:
  int64_t k_, d_;
  std::vector<double> n_, sum_, scatter_;
};

// One thread's way down the tree.
class KdDescent {
 public:
  KdDescent(const KdTree& tree, const double* rows, const Quadratics& q, int32_t* label)
      : tree_(tree), rows_(rows), q_(q), label_(label), lanes_(q.d), view_(q.k), gap_(q.d), no_scatter_(q.d * q.d) {
    for (View& view : view_) view.gradient.resize(q.d);
  }

  // All rows below `node` to their clusters, which are among `candidates`; their moments are added up in `found`.
  void descend(int64_t node, const std::vector<int32_t>& candidates, MomentsOut found) {
    found_ = found;
    descend(node, candidates);
  }

  int64_t n_evaluations = 0;

 private:
  void descend(int64_t node, std::vector<int32_t> candidates) {
    const KdTree::Node& at = tree_.nodes_[node];
    if (candidates.size() > 1) blacklist(node, candidates);
    if (candidates.size() == 1) return own(node, candidates[0]);
    if (at.left < 0) return one_by_one(node, candidates);
    descend(at.left, candidates);
    descend(at.left + 1, std::move(candidates));
  }

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
    join_moments(found_, c, tree_.node_moments(), node);
  }

  void one_by_one(int64_t node, const std::vector<int32_t>& candidates) {
    const int64_t first = tree_.nodes_[node].begin, end = tree_.nodes_[node].end;
    n_evaluations += (end - first) * candidates.size();
    for (int64_t begin = first; begin < end; begin += RowLanes::LANES) {
      const int64_t m = std::min<int64_t>(RowLanes::LANES, end - begin);
      lanes_.take(rows_, begin, m);
      for (int32_t c : candidates) lanes_.compare_with(q_, c);
      std::copy(lanes_.label, lanes_.label + m, label_ + begin);
    }
    const int32_t owner = label_[first];
    if (std::all_of(label_ + first, label_ + end, [&](int32_t c) { return c == owner; })) return own(node, owner);
    double one = 1.0;
    for (int64_t i = first; i < end; ++i)
      join_moments(found_, label_[i], {&one, const_cast<double*>(rows_) + i * q_.d, no_scatter_.data(), 1, q_.d}, 0);
  }

  const KdTree& tree_;
  const double* rows_;
  const Quadratics& q_;
  int32_t* label_;
  RowLanes lanes_;
  std::vector<View> view_;
  MomentsOut found_{};
  std::vector<double> gap_, no_scatter_;
};

void KdDescent::look(int64_t node, int32_t c) {
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

// Prunes clusters that cost more, everywhere in the box, than the one that is cheapest in the middle.
void KdDescent::blacklist(int64_t node, std::vector<int32_t>& candidates) {
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
  std::atomic<int64_t> n_evaluations{0};
  SumTree<PartMoments> tree(0, parts_.size());
  Blocks(parts_.size()).run(n_threads, [&](Worker& worker) {
    KdDescent descent(*this, rows, q, label);
    for (int64_t part; (part = worker.next()) >= 0;) {
      auto found = tree.spare();
      if (!found) found = std::make_unique<PartMoments>(q.k, q.d);
      found->clear();
      descent.descend(parts_[part], everyone, found->out());
      tree.put({0, part}, std::move(found));
    }
    n_evaluations += descent.n_evaluations;
  });
  const auto total = tree.total();
  for (int64_t c = 0; c < q.k && total; ++c) join_moments(out, c, total->out(), c);
  return n_evaluations;
}

}  // namespace kfree
