// How a coordinate, or two in a row, is made: for the three layouts that the loops over dense rows are compiled for.
// `from(row)` numbers rows from that one on: loops then have its place ready, as row 0.
#pragma once
#include <cstdint>

#include "core/pairs.hpp"

namespace kfree {

// Values in a line of a cache.
template <class T>
constexpr int64_t LINE = 64 / sizeof(T);

// Asks for d values that will be read soon.
template <class T>
void prefetch_values(const T* x, int64_t d) {
  for (int64_t t = 0; t < d; t += LINE<T>) __builtin_prefetch(x + t);
}

template <class T>
struct Contiguous {
  const T* X;
  int64_t row_stride;
  const double *anchor, *shift;
  double operator()(int64_t row, int64_t t) const {
    return (static_cast<double>(X[row * row_stride + t]) - anchor[t]) - shift[t];
  }
  Contiguous from(int64_t row) const { return {X + row * row_stride, row_stride, anchor, shift}; }
  Pair pair(int64_t row, int64_t t) const {
    return (pair_at(X + row * row_stride + t) - pair_at(anchor + t)) - pair_at(shift + t);
  }
  // A short row; processors notice by themselves that long ones are read.
  void prefetch(int64_t row, int64_t d) const {
    if (d <= 2 * LINE<T>) prefetch_values(X + row * row_stride, d);
  }
};

template <class T>
struct Strided {
  const T* X;
  int64_t row_stride, column_stride;
  const double *anchor, *shift;
  double operator()(int64_t row, int64_t t) const {
    return (static_cast<double>(X[row * row_stride + t * column_stride]) - anchor[t]) - shift[t];
  }
  Strided from(int64_t row) const { return {X + row * row_stride, row_stride, column_stride, anchor, shift}; }
  Pair pair(int64_t row, int64_t t) const { return Pair{(*this)(row, t), (*this)(row, t + 1)}; }
  void prefetch(int64_t, int64_t) const {}  // a line for each value
};

template <class T>
struct Unit {
  const T* X;
  int64_t row_stride, column_stride;
  const double* length;
  double operator()(int64_t row, int64_t t) const {
    return static_cast<double>(X[row * row_stride + t * column_stride]) / length[row];
  }
  Unit from(int64_t row) const { return {X + row * row_stride, row_stride, column_stride, length + row}; }
  Pair pair(int64_t row, int64_t t) const { return Pair{(*this)(row, t), (*this)(row, t + 1)}; }
  void prefetch(int64_t, int64_t) const {}  // a line for each value
};

}  // namespace kfree
