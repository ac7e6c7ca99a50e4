// Gibbs sampling of a Dirichlet process mixture of spherical Gaussians, means kept (Neal 2000, Algorithm 2).
#pragma once
#include <cstdint>
#include <vector>

#include "samplers/random.hpp"
#include "samplers/slots.hpp"

namespace kfree {

// x ~ N(μ_z, σI), μ ~ N(0, ρI), z by the Chinese restaurant process of concentration α.
class SphericalChain {
 public:
  // in x (n, d), kept by the caller; label (n,) without gaps. Means are drawn before the first sweep.
  SphericalChain(const double* x, int64_t n, int64_t d, const int32_t* label, uint64_t seed, double sigma, double rho);

  // New labels row by row given the means, then new means given the labels.
  void sweep(double log_alpha, double sigma, double rho);

  const std::vector<int32_t>& labels() const { return slots_.label; }
  const std::vector<int64_t>& counts() const { return slots_.count; }
  // Totals of the rows per cluster (k, d). sq_error: Σ‖x − μ_z‖².
  const std::vector<double>& sums() const { return sum_; }
  double sq_error() const;

 private:
  void sq_dists(const double* row);
  int64_t open(const double* row, double sigma, double rho);
  void draw_means(double sigma, double rho);

  const double* x_;
  int64_t n_, d_;
  Slots slots_;
  Random random_;
  int64_t stride_ = 0;             // slots for which mean_ has room
  std::vector<double> mean_;       // (d, stride): a row of x is compared with all slots in one loop
  std::vector<double> sum_;        // (k, d)
  std::vector<double> log_count_;  // of 0, …, n
  std::vector<double> weight_;     // squared distances, then log weights
};

}  // namespace kfree
