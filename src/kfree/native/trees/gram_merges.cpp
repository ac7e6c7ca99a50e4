#include "trees/gram_merges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/parallel.hpp"
#include "core/partners.hpp"
#include "core/uninitialised.hpp"

namespace kfree {
namespace {

// What merging two clusters costs where centres are means: n_a·n_b/(n_a + n_b)·‖μ_a − μ_b‖².
struct MeanPairs {
  std::vector<double> inverse, sq_norm;

  explicit MeanPairs(int64_t k) : inverse(k), sq_norm(k) {}
  void measure(int64_t a, double n, double sq_sum) {
    inverse[a] = 1.0 / (n > 0.0 ? n : 1.0);
    sq_norm[a] = sq_sum * (inverse[a] * inverse[a]);
  }
  double cost(int64_t a, int64_t b, const double* n, double product) const {
    const double both = n[b] + n[a], shared = n[b] * n[a] / (both > 0.0 ? both : 1.0);
    return shared * std::max(sq_norm[b] + sq_norm[a] - 2.0 * (product * inverse[b] * inverse[a]), 0.0);
  }
};

// The same where they are directions: 2·(‖S_a‖ + ‖S_b‖ − ‖S_a + S_b‖).
struct DirectionPairs {
  std::vector<double> sq_sum, length;

  explicit DirectionPairs(int64_t k) : sq_sum(k), length(k) {}
  void measure(int64_t a, double, double sq) {
    sq_sum[a] = sq;
    length[a] = std::sqrt(std::max(sq, 0.0));  // rounding leaves less than zero where rows cancel out
  }
  double cost(int64_t a, int64_t b, const double*, double product) const {
    const double joined = std::sqrt(std::max(sq_sum[b] + sq_sum[a] + 2.0 * product, 0.0));
    return 2.0 * std::max(length[b] + length[a] - joined, 0.0);
  }
};

template <class Pairs>
class GramMerger {
 public:
  GramMerger(double* n, double* gram, int64_t k)
      : k_(k), n_(n), gram_(gram), pairs_(k), partners_(k), costs_(k * k), alive_(k) {
    for (int64_t a = 0; a < k; ++a) {
      alive_[a] = a;
      pairs_.measure(a, n[a], gram[a * k + a]);
    }
    for (int64_t a = 0; a < k; ++a) {
      for (int64_t b = a + 1; b < k; ++b) costs_[a * k + b] = cost(a, b);
      look(a);
    }
  }

  MergePair first() {
    return partners_.first([this](int64_t a) { look(a); });
  }

  void merge(int64_t a, int64_t b) {
    add(a, b);
    alive_.erase(std::lower_bound(alive_.begin(), alive_.end(), b));
    partners_.remove(b);
    for (const int64_t c : alive_) {
      if (c == a) continue;
      // Kept, since each cost is asked for several times before one of its two clusters changes.
      const double now = costs_[std::min(a, c) * k_ + std::max(a, c)] = cost(a, c);
      if (c < a && partners_.offer(c, {c, a, now})) continue;
      if (partners_.has(c, a) || partners_.has(c, b)) partners_.out_of_date(c);
    }
    look(a);
  }

 private:
  double cost(int64_t a, int64_t b) const {
    const double found = pairs_.cost(a, b, n_, gram_[a * k_ + b]);
    // What overflows is not a number, and has no place in an order.
    return std::isnan(found) ? std::numeric_limits<double>::infinity() : found;
  }

  // Cluster a takes over the rows of b.
  void add(int64_t a, int64_t b) {
    double *kept = gram_ + a * k_, *gone = gram_ + b * k_;
    n_[a] += n_[b];
    for (int64_t c = 0; c < k_; ++c) kept[c] += gone[c];
    kept[a] += kept[b];
    for (const int64_t c : alive_) gram_[c * k_ + a] = kept[c];
    pairs_.measure(a, n_[a], kept[a]);
  }

  // The cheapest partner of a among the clusters after it.
  void look(int64_t a) {
    MergePair best;
    for (auto c = std::upper_bound(alive_.begin(), alive_.end(), a); c != alive_.end(); ++c) {
      const double now = costs_[a * k_ + *c];
      if (now < best.cost || best.a < 0) best = {a, *c, now};
    }
    partners_.set(a, best);
  }

  const int64_t k_;
  double *n_, *gram_;
  Pairs pairs_;
  Partners partners_;
  Uninitialised<double> costs_;  // (k,k), above the diagonal
  std::vector<int64_t> alive_;   // in ascending order
};

template <class Pairs>
void merge_all(double* n, double* gram, int64_t k, int64_t* pairs, double* cost, const std::function<bool()>& go_on) {
  GramMerger<Pairs> merger(n, gram, k);
  for (int64_t t = 0; t + 1 < k; ++t) {
    if (t % 64 == 0 && !go_on()) throw Interrupted();
    const MergePair pair = merger.first();
    pairs[2 * t] = pair.a;
    pairs[2 * t + 1] = pair.b;
    cost[t] = pair.cost;
    merger.merge(pair.a, pair.b);
  }
}

template <class Pairs>
MergePair cheapest(const double* n, const double* sq_sum, const double* products, int64_t m, int64_t k) {
  Pairs pairs(k);
  for (int64_t a = 0; a < k; ++a) pairs.measure(a, n[a], sq_sum[a]);
  MergePair best = {0, 0};
  for (int64_t a = 0; a < m; ++a)
    for (int64_t b = a + 1; b < k; ++b) {
      const double cost = pairs.cost(a, b, n, products[a * k + b]);
      if (cost < best.cost) best = {a, b, cost};
    }
  return best;
}

}  // namespace

MergePair cheapest_pair(const double* n, const double* sq_sum, const double* products, int64_t m, int64_t k,
                        bool directions) {
  return (directions ? cheapest<DirectionPairs> : cheapest<MeanPairs>)(n, sq_sum, products, m, k);
}

void merge_by_gram(double* n, double* gram, int64_t k, bool directions, int64_t* pairs, double* cost,
                   const std::function<bool()>& go_on) {
  if (directions)
    merge_all<DirectionPairs>(n, gram, k, pairs, cost, go_on);
  else
    merge_all<MeanPairs>(n, gram, k, pairs, cost, go_on);
}

}  // namespace kfree
