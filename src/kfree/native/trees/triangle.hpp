// Symmetric positive definite matrices as lower triangles, column by column: (0,0) (1,0) … (d−1,0) (1,1) (2,1) …
// T is double, or Four for four matrices side by side.
#pragma once
#include <algorithm>

#include "core/lanes.hpp"

namespace kfree::triangle {

// A logarithm takes as long as many products. The product of four pivots overflows only where data are 1e38 times as
// wide as the prior.
constexpr int64_t PIVOTS_PER_LOG = 4;

inline int64_t size(int64_t d) { return d * (d + 1) / 2; }
inline double max(double x, double least) { return std::max(x, least); }

// A ← A + weight·v·vᵀ
template <class T>
void add_outer(T* A, const T* v, T weight, int64_t d) {
  for (int64_t j = 0; j < d; A += d - j, ++j) {
    const T scaled = weight * v[j];
    for (int64_t i = j; i < d; ++i) A[i - j] += scaled * v[i];
  }
}

// A ← A + I
template <class T>
void add_identity(T* A, int64_t d) {
  for (int64_t j = 0; j < d; A += d - j, ++j) A[0] += 1.0;
}

// in A = I + (positive semidefinite); out A = L·P·Lᵀ: P on the diagonal, the unit triangle L below it.
// Returns log det A. No pivot is less than one, whatever rounding does.
template <class T>
T factorise(T* A, int64_t d) {
  using std::log;
  T log_det = 0.0, product = 1.0;
  for (int64_t j = 0; j < d; A += d - j, ++j) {
    const T pivot = A[0] = max(A[0], 1.0), inverse = 1.0 / pivot;
    T* next = A + (d - j);
    for (int64_t k = j + 1; k < d; next += d - k, ++k) {
      const T factor = A[k - j] * inverse;
      for (int64_t i = k; i < d; ++i) next[i - k] -= A[i - j] * factor;
    }
    for (int64_t i = j + 1; i < d; ++i) A[i - j] = A[i - j] * inverse;
    product = product * pivot;
    if (j % PIVOTS_PER_LOG == 0) log_det += log(product), product = 1.0;
  }
  return log_det + log(product);
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
template <class T>
void multiply(const T* W, const T* v, T* product, int64_t d) {
  std::fill_n(product, d, T(0.0));
  for (int64_t j = 0; j < d; W += d - j, ++j) {
    const T factor = v[j];
    for (int64_t i = j; i < d; ++i) product[i] += W[i - j] * factor;
  }
}

}  // namespace kfree::triangle
