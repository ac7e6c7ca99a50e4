// Collapsed Gibbs sampling of a Dirichlet process mixture of Gaussians of any shape (MacEachern & Müller 1998; Neal
// 2000, Algorithm 3): labels only, means and covariances integrated out.
#pragma once
#include <cstdint>
#include <vector>

#include "samplers/bank.hpp"
#include "samplers/random.hpp"
#include "samplers/slots.hpp"

namespace kfree {

// μ ~ N(0, precision ξ0·Ω), Ω ~ Wishart(η0, inverse scale B0)   (Kurihara & Welling 2009, Eq. 15, with m0 = 0).
struct NormalWishart {
  double xi0, eta0;
  std::vector<double> B0;         // (d, d)
  std::vector<double> at_centre;  // (n + 1,): log predictive density at the mean of 0, …, n rows, but for −½·log det B
};

class CollapsedChain {
 public:
  // in x (n, d), kept by the caller; label (n,) without gaps.
  CollapsedChain(const double* x, int64_t n, int64_t d, const int32_t* label, uint64_t seed, NormalWishart prior);

  // New labels row by row given all other labels.
  void sweep(double log_alpha);

  const std::vector<int32_t>& labels() const { return slots_.label; }
  const std::vector<int64_t>& counts() const { return slots_.count; }

 private:
  // Posterior of a cluster: mean m (d,), and B = LLᵀ with L kept by columns (d, d).
  struct Cluster {
    std::vector<double> mean, factor;
    double half_log_det = 0.0;
  };

  // The density of a row in a cluster, log_prior included, as a function of the squared distance to its mean.
  struct Density {
    double at_centre, half_power, scale;
    double most_sq_dist(double least) const;  // where the density is `least`; negative if it is lower everywhere
    double at(double sq_dist) const;
  };

  void rebuild(int64_t slot, int64_t without_row);
  void factorise(Cluster& cluster, std::vector<double>& B);
  void weigh(int64_t row, int64_t left, double log_alpha);
  void leave(int64_t row, int64_t slot);
  void join(int64_t row, int64_t slot);
  bool turn(Cluster& cluster, double sign);
  Density density(const Cluster& cluster, int64_t count, double log_prior) const;
  double sq_dist(const double* row, const Cluster& cluster);

  const double* x_;
  int64_t n_, d_;
  Slots slots_;
  Random random_;
  NormalWishart prior_;
  Cluster empty_;
  std::vector<Cluster> clusters_;
  Cluster whole_;  // the cluster that a row has left, as it was
  Bank bank_;
  std::vector<double> log_count_;  // of 0, …, n
  std::vector<double> new_;        // (n,): log predictive density of each row in a cluster of its own
  std::vector<double> gap_, weight_;
};

}  // namespace kfree
