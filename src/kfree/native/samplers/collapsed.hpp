// Collapsed Gibbs sampling of a Dirichlet process mixture of Gaussians of any shape (MacEachern & Müller 1998; Neal
// 2000, Algorithm 3): labels only, means and covariances integrated out.
#pragma once
#include <cstdint>
#include <vector>

#include "samplers/bank.hpp"
#include "samplers/factor.hpp"
#include "samplers/few_rows.hpp"
#include "samplers/random.hpp"
#include "samplers/slots.hpp"

namespace kfree {

// μ ~ N(0, precision ξ0·Ω), Ω ~ Wishart(η0, inverse scale B0)   (Kurihara & Welling 2009, Eq. 15, with m0 = 0).
struct NormalWishart {
  double xi0, eta0;
  std::vector<double> B0;         // (d, d)
  std::vector<double> at_centre;  // (n + 1,): log predictive density at the mean of 0, …, n rows, but for −½·log det B
};

// Rows are seen as z = L0⁻¹x with B0 = L0L0ᵀ, where the prior's B0 is the identity. All densities lose the factor
// det L0 by that, so the probabilities of labels stay as they are.
class CollapsedChain {
 public:
  // in x (n, d); label (n,) without gaps.
  CollapsedChain(const double* x, int64_t n, int64_t d, const int32_t* label, uint64_t seed, NormalWishart prior);

  // New labels row by row given all other labels.
  void sweep(double log_alpha);

  const std::vector<int32_t>& labels() const { return slots_.label; }
  const std::vector<int64_t>& counts() const { return slots_.count; }

 private:
  // Up to d / 4 rows are kept as vectors, more as Cholesky's factor; the other one is empty.
  struct Cluster {
    bool is_few;
    FewRows few;
    Factor factor;
    double half_log_det() const { return is_few ? few.half_log_det : factor.half_log_det; }
  };

  // The density of a row in a cluster, log_prior included, as a function of the squared distance to its mean.
  struct Density {
    double at_centre, half_power, scale;
    double most_sq_dist(double least) const;  // where the density is `least`; negative if it is lower everywhere
    double at(double sq_dist) const;
  };

  const double* row(int64_t i) const { return z_.data() + i * padded_; }
  void open_clusters();
  void keep_few(int64_t slot);
  void rebuild(int64_t slot, int64_t without_row);
  double weigh_own(int64_t row, int64_t slot, bool& has_left);
  void weigh(int64_t row, int64_t left, double log_alpha);
  void weigh_factors(int64_t row, int64_t left, double highest);
  void leave(int64_t row, int64_t slot);
  void join(int64_t row, int64_t slot);
  void close_gaps();
  Density density(double half_log_det, int64_t count) const;

  int64_t n_, d_, padded_, most_few_;
  Slots slots_;
  Random random_;
  NormalWishart prior_;
  Factor no_rows_;
  Cluster empty_;
  std::vector<Cluster> clusters_;
  Cluster whole_;  // the cluster that a row has left, as it was
  Bank bank_;
  std::vector<double> z_;          // (n, padded)
  std::vector<double> log_count_;  // of 0, …, n
  std::vector<double> new_;        // (n,): log predictive density of each row in a cluster of its own
  std::vector<double> scratch_, weight_;
};

}  // namespace kfree
