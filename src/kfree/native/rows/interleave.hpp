// Columns that lie apart, as files hold them, written to rows, and whether all of their values are numbers.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/pairs.hpp"
#include "rows/finite.hpp"

namespace kfree {

// Values of one column: its first one, and how many values the next one is away.
template <class T>
struct Column {
  const T* value;
  int64_t stride;
};

// As many rows and columns as a register has values, turned from columns into rows within registers.
template <class T>
struct Square;

template <>
struct Square<float> {
  static constexpr int64_t SIDE = 4;
  typedef float Vector __attribute__((vector_size(16)));
  typedef LoadedFour Loaded;
  static void transpose(Vector (&v)[SIDE]) {
    const Vector even_low = low(v[0], v[2]), odd_low = low(v[1], v[3]);
    const Vector even_high = high(v[0], v[2]), odd_high = high(v[1], v[3]);
    v[0] = low(even_low, odd_low), v[1] = high(even_low, odd_low);
    v[2] = low(even_high, odd_high), v[3] = high(even_high, odd_high);
  }

 private:
  static Vector low(Vector a, Vector b) { return Vector{a[0], b[0], a[1], b[1]}; }
  static Vector high(Vector a, Vector b) { return Vector{a[2], b[2], a[3], b[3]}; }
};

template <>
struct Square<double> {
  static constexpr int64_t SIDE = 2;
  typedef Pair Vector;
  typedef LoadedPair Loaded;
  static void transpose(Vector (&v)[SIDE]) {
    const Vector first = firsts(v[0], v[1]);
    v[1] = seconds(v[0], v[1]), v[0] = first;
  }
};

// Whether the values of some columns have no gaps between them.
template <class T>
bool lie_close(const Column<T>* columns, int64_t n_columns) {
  return std::all_of(columns, columns + n_columns, [](const Column<T>& column) { return column.stride == 1; });
}

// The rows begin … end − 1 of as many columns as a square has; the row 0 of X is at X, and the next one d values away.
template <class T>
bool interleave_squares(const Column<T>* columns, int64_t begin, int64_t end, int64_t d, T* X) {
  using Vector = typename Square<T>::Vector;
  using Loaded = typename Square<T>::Loaded;
  constexpr int64_t SIDE = Square<T>::SIDE;
  Vector bad[SIDE] = {};  // zeros as long as all values are numbers, see finite.hpp
  const T* value[SIDE];
  for (int64_t c = 0; c < SIDE; ++c) value[c] = columns[c].value;
  for (int64_t i = begin; i < end; i += SIDE) {
    Vector v[SIDE];
    for (int64_t c = 0; c < SIDE; ++c) {
      v[c] = *reinterpret_cast<const Loaded*>(value[c] + i);
      bad[c] += v[c] - v[c];
    }
    Square<T>::transpose(v);
    for (int64_t r = 0; r < SIDE; ++r) *reinterpret_cast<Loaded*>(X + (i + r) * d) = v[r];
  }
  Vector sum = {};
  for (int64_t c = 0; c < SIDE; ++c) sum += bad[c];
  T all = 0;
  for (int64_t lane = 0; lane < SIDE; ++lane) all += sum[lane];
  return all == 0;
}

// in columns, n values each; out X (n, d). Returns whether all values are finite. A few rows at a time, so that these
// stay in the first-level cache while some columns after the others are written to them.
template <class T>
bool interleave(const std::vector<Column<T>>& columns, int64_t n, T* X) {
  constexpr int64_t AT_ONCE = 128, SIDE = Square<T>::SIDE;
  const auto d = static_cast<int64_t>(columns.size());
  bool finite = true;
  for (int64_t begin = 0; begin < n; begin += AT_ONCE) {
    const int64_t end = std::min(n, begin + AT_ONCE), end_of_squares = begin + (end - begin) / SIDE * SIDE;
    for (int64_t t = 0; t < d;) {
      int64_t width = 1, first = begin;
      if (t + SIDE <= d && lie_close(&columns[t], SIDE)) {
        finite = interleave_squares(&columns[t], begin, end_of_squares, d, X + t) && finite;
        width = SIDE, first = end_of_squares;
      }
      for (const int64_t last = t + width; t < last; ++t) {
        const auto [value, stride] = columns[t];
        for (int64_t i = first; i < end; ++i) X[i * d + t] = value[i * stride];
        if (first < end) finite = all_finite(value + first * stride, end - first, stride) && finite;
      }
    }
  }
  return finite;
}

}  // namespace kfree
