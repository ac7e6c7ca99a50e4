// How coordinates are made, for the layouts that the loops over dense rows are compiled for: at(row, t), or several in a
// row by wide<W>(row, t). `from(row)` numbers rows from that one on: loops then have its place ready, as row 0.
#pragma once
#include <cstdint>

#include "core/inlined.hpp"
#include "core/pairs.hpp"

namespace kfree {

// W numbers that go through the same arithmetic side by side.
template <class T, int W>
struct VectorOf {
  typedef T type __attribute__((vector_size(W * sizeof(T))));
  typedef T unaligned __attribute__((vector_size(W * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <int W>
using Doubles = typename VectorOf<double, W>::type;

template <int W, class T>
KFREE_INLINE inline Doubles<W> loaded(const T* p) {
  if constexpr (W == 2)
    return pair_at(p);  // compilers convert two numbers one by one
  else
    return __builtin_convertvector(*reinterpret_cast<const typename VectorOf<T, W>::unaligned*>(p), Doubles<W>);
}
// The numbers at p, p + stride, …
template <int W, class T>
KFREE_INLINE inline Doubles<W> gathered(const T* p, int64_t stride) {
  Doubles<W> values;
  for (int lane = 0; lane < W; ++lane) values[lane] = static_cast<double>(p[lane * stride]);
  return values;
}
template <int W>
KFREE_INLINE inline void store(double* p, Doubles<W> values) {
  *reinterpret_cast<typename VectorOf<double, W>::unaligned*>(p) = values;
}
template <int W>
KFREE_INLINE inline void store_narrowed(float* p, Doubles<W> values) {
  if constexpr (W == 2)
    put_narrowed(p, values);
  else
    *reinterpret_cast<typename VectorOf<float, W>::unaligned*>(p) =
        __builtin_convertvector(values, typename VectorOf<float, W>::type);
}

// Values in a line of a cache.
template <class T>
constexpr int64_t LINE = 64 / sizeof(T);

template <class T>
struct Contiguous {
  const T* X;
  int64_t row_stride;
  const double *anchor, *shift;

  KFREE_INLINE double operator()(int64_t row, int64_t t) const {
    return (static_cast<double>(X[row * row_stride + t]) - anchor[t]) - shift[t];
  }
  template <int W>
  KFREE_INLINE Doubles<W> wide(int64_t row, int64_t t) const {
    return (loaded<W>(X + row * row_stride + t) - loaded<W>(anchor + t)) - loaded<W>(shift + t);
  }
  KFREE_INLINE Contiguous from(int64_t row) const { return {X + row * row_stride, row_stride, anchor, shift}; }
  // A short row; processors notice by themselves that long ones are read.
  KFREE_INLINE void prefetch(int64_t row, int64_t d) const {
    if (d <= 2 * LINE<T>)
      for (int64_t t = 0; t < d; t += LINE<T>) __builtin_prefetch(X + row * row_stride + t);
  }
};

template <class T>
struct Strided {
  const T* X;
  int64_t row_stride, column_stride;
  const double *anchor, *shift;

  KFREE_INLINE double operator()(int64_t row, int64_t t) const {
    return (static_cast<double>(X[row * row_stride + t * column_stride]) - anchor[t]) - shift[t];
  }
  template <int W>
  KFREE_INLINE Doubles<W> wide(int64_t row, int64_t t) const {
    return (gathered<W>(X + row * row_stride + t * column_stride, column_stride) - loaded<W>(anchor + t)) -
           loaded<W>(shift + t);
  }
  KFREE_INLINE Strided from(int64_t row) const {
    return {X + row * row_stride, row_stride, column_stride, anchor, shift};
  }
  KFREE_INLINE void prefetch(int64_t, int64_t) const {}  // a line for each value
};

template <class T>
struct Unit {
  const T* X;
  int64_t row_stride, column_stride;
  const double* length;

  KFREE_INLINE double operator()(int64_t row, int64_t t) const {
    return static_cast<double>(X[row * row_stride + t * column_stride]) / length[row];
  }
  template <int W>
  KFREE_INLINE Doubles<W> wide(int64_t row, int64_t t) const {
    const T* x = X + row * row_stride + t * column_stride;
    return (column_stride == 1 ? loaded<W>(x) : gathered<W>(x, column_stride)) / length[row];
  }
  KFREE_INLINE Unit from(int64_t row) const { return {X + row * row_stride, row_stride, column_stride, length + row}; }
  KFREE_INLINE void prefetch(int64_t, int64_t) const {}
};

}  // namespace kfree
