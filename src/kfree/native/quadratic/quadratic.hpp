// Assignment of rows by quadratic costs, one per cluster: cost_c(x) = ‖F_c (x − m_c)‖² + a_c, F_c lower triangular.
// The arithmetic is canonical: y_i = Σ_j F_ij·(x_j − m_j) and Σ_i y_i², both in order, then + a. Never fused.
#pragma once
#include <cstdint>
#include <vector>

#include "core/pairs.hpp"

namespace kfree {

struct Quadratics {
  const double* centre;  // (k, d)
  const double* factor;  // (k, d, d)
  const double* offset;  // (k,)
  int64_t k, d;
};

// Number of rows, their sum, and Σ(x − mean)(x − mean)ᵀ of each cluster.
struct MomentsOut {
  double* n;        // (k,)
  double* sum;      // (k, d)
  double* scatter;  // (k, d, d)
  int64_t k, d;
};

// A few rows beside each other, so that one instruction works on several of them.
class RowLanes {
 public:
  static constexpr int LANES = 8;
  explicit RowLanes(int64_t d) : x_(d * PAIRS), gap_(d * PAIRS), d_(d) {}
  // Takes rows begin to begin + m of `rows` (·, d), m ≤ LANES.
  void take(const double* rows, int64_t begin, int64_t m);
  // Moves rows to cluster c where that costs less than `best`; ties stay, so call it in order of c.
  void compare_with(const Quadratics& q, int32_t c);

  double best[LANES];
  int32_t label[LANES];

 private:
  static constexpr int PAIRS = LANES / 2;

  std::vector<Pair> x_, gap_;  // (d, PAIRS)
  const int64_t d_;
};

// Adds cluster b of `from` to cluster a of `to`: statistics of the union.
void join_moments(const MomentsOut& to, int64_t a, const MomentsOut& from, int64_t b);

// out label (n,): the cluster where each of rows (n, d) costs least, the first of equals.
void cheapest(const double* rows, int64_t n, const Quadratics& q, int n_threads, int32_t* label);
// Moments of the clusters that `label` (n,) names.
void moments(const double* rows, int64_t n, const int32_t* label, int n_threads, const MomentsOut& out);

}  // namespace kfree
