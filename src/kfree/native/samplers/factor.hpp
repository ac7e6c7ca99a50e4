// The posterior of a cluster as Cholesky's factor, in coordinates in which the prior's B0 is the identity.
#pragma once
#include <cstdint>
#include <vector>

namespace kfree {

// Mean m (d,), and B = LLᵀ with L kept by columns (d, d). Scratch has d numbers.
struct Factor {
  std::vector<double> mean, columns;
  double half_log_det = 0.0;

  // Without columns until one is assigned, so that clusters kept otherwise take no memory; of d columns, that of no rows.
  Factor() = default;
  explicit Factor(int64_t d);

  // in B (d, d), of which the columns are read from the diagonal on and overwritten.
  void factorise(std::vector<double>& B);

  // One row more or less, of weight ξ before. False where subtracting leaves no positive pivot.
  void add(const double* z, double xi, double* scratch);
  bool subtract(const double* z, double xi, double* scratch);

  // L⁻¹z in place.
  void solve(double* z) const;

  // ‖L⁻¹(z − mean)‖².
  double sq_dist(const double* z, double* scratch) const;

 private:
  bool turn(double* gap, double sign);
  void take_log_det();
};

}  // namespace kfree
