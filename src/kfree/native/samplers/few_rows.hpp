// The posterior of a cluster with fewer rows than columns, in coordinates in which the prior's B0 is the identity.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kfree {

// Eight partial sums, so that the loop is not one chain of additions; padded is a multiple of eight.
inline double dot(const double* a, const double* b, int64_t padded) {
  double sum[8] = {};
  for (int64_t t = 0; t < padded; t += 8)
    for (int64_t l = 0; l < 8; ++l) sum[l] += a[t + l] * b[t + l];
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

// B is the identity plus one square uuᵀ per row, so B⁻¹ = I − WWᵀ with as many columns w as rows (Sherman & Morrison
// 1950). A distance takes c + 1 products of d numbers, where Cholesky's factor takes d²/2.
struct FewRows {
  // B⁻¹ has lost up to 6 of 16 digits when the squares add up to this.
  static constexpr double MOST_SPREAD = 1e6;

  std::vector<int64_t> rows;
  std::vector<double> vectors;  // (1 + rows, padded): the mean, then the columns w
  double half_log_det = 0.0, spread = 0.0;

  explicit FewRows(int64_t padded) : vectors(padded, 0.0) {}

  bool exact() const { return spread <= MOST_SPREAD; }

  // in z (padded,); scratch (padded,).
  void add(int64_t row, const double* z, double xi0, double* scratch) {
    const int64_t count = static_cast<int64_t>(rows.size()), padded = static_cast<int64_t>(vectors.size()) / (count + 1);
    const double xi = xi0 + static_cast<double>(count), scale = std::sqrt(xi / (xi + 1.0));
    vectors.resize((count + 2) * padded);
    double* mean = vectors.data();
    double* made = mean + (count + 1) * padded;
    for (int64_t t = 0; t < padded; ++t) {
      const double gap = z[t] - mean[t];
      made[t] = scratch[t] = scale * gap;
      mean[t] += gap / (xi + 1.0);
    }
    for (const double* w = mean + padded; w < made; w += padded) {
      const double along = dot(w, scratch, padded);
      for (int64_t t = 0; t < padded; ++t) made[t] -= along * w[t];
    }
    const double growth = 1.0 + dot(scratch, made, padded), length = std::sqrt(growth);
    for (int64_t t = 0; t < padded; ++t) made[t] /= length;
    half_log_det += 0.5 * std::log(growth);
    spread += dot(scratch, scratch, padded);
    rows.push_back(row);
  }

  // All rows but one are added again, so nothing is subtracted. in z (n, padded).
  void remove(int64_t row, const double* z, double xi0, double* scratch) {
    const std::vector<int64_t> old = std::move(rows);
    const int64_t padded = static_cast<int64_t>(vectors.size() / (old.size() + 1));
    rows.clear();
    vectors.assign(padded, 0.0);
    half_log_det = spread = 0.0;
    for (const int64_t other : old)
      if (other != row) add(other, z + other * padded, xi0, scratch);
  }

  // (z − mean)ᵀB⁻¹(z − mean). in z (padded,); scratch (padded,).
  double sq_dist(const double* z, int64_t padded, double* scratch) const {
    const double* mean = vectors.data();
    for (int64_t t = 0; t < padded; ++t) scratch[t] = z[t] - mean[t];
    double sum = dot(scratch, scratch, padded);
    for (size_t j = 1; j <= rows.size(); ++j) {
      const double along = dot(mean + j * padded, scratch, padded);
      sum -= along * along;
    }
    return sum;
  }
};

}  // namespace kfree
