// Symmetric positive definite matrices as lower triangles, column by column: (0,0) (1,0) … (d−1,0) (1,1) (2,1) …
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace kfree::triangle {

inline int64_t size(int64_t d) { return d * (d + 1) / 2; }

// A ← A + weight·v·vᵀ
inline void add_outer(double* A, const double* v, double weight, int64_t d) {
  for (int64_t j = 0; j < d; A += d - j, ++j) {
    const double scaled = weight * v[j];
    for (int64_t i = j; i < d; ++i) A[i - j] += scaled * v[i];
  }
}

// A ← A + I
inline void add_identity(double* A, int64_t d) {
  for (int64_t j = 0; j < d; A += d - j, ++j) A[0] += 1.0;
}

// in A = I + (positive semidefinite); out A = L·P·Lᵀ: P on the diagonal, the unit triangle L below it.
// Returns log det A. No pivot is less than one, whatever rounding does.
inline double factorise(double* A, int64_t d) {
  double log_det = 0, product = 1;
  for (int64_t j = 0; j < d; ++j) {
    double *column = A, *next = A + (d - j);
    const double pivot = column[0] = std::max(column[0], 1.0);
    for (int64_t k = j + 1; k < d; next += d - k, ++k) {
      const double factor = column[k - j] / pivot;
      for (int64_t i = k; i < d; ++i) next[i - k] -= column[i - j] * factor;
    }
    for (int64_t i = j + 1; i < d; ++i) column[i - j] /= pivot;
    A += d - j;
    // One logarithm for several pivots, as long as their product cannot overflow.
    product *= pivot;
    if (product > 1e100 || j + 1 == d) {
      log_det += std::log(product);
      product = 1;
    }
  }
  return log_det;
}

// in A as factorise leaves it; out W = P^(−1/2)·L⁻¹, so that ‖W·v‖² = vᵀA⁻¹v.
inline void whitener(const double* A, double* W, int64_t d) {
  for (int64_t j = 0; j < d; A += d - j, W += d - j, ++j) {
    std::fill_n(W, d - j, 0.0);
    W[0] = 1.0;
    const double* column = A;
    for (int64_t k = j; k < d; column += d - k, ++k) {
      for (int64_t i = k + 1; i < d; ++i) W[i - j] -= column[i - k] * W[k - j];
      W[k - j] /= std::sqrt(column[0]);
    }
  }
}

// out product = W·v
inline void multiply(const double* W, const double* v, double* product, int64_t d) {
  std::fill_n(product, d, 0.0);
  for (int64_t j = 0; j < d; W += d - j, ++j) {
    const double factor = v[j];
    for (int64_t i = j; i < d; ++i) product[i] += W[i - j] * factor;
  }
}

}  // namespace kfree::triangle
