// Columns that lie apart, as files hold them, written to rows.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace kfree {

// Values of one column: its first one, and how many values the next one is away.
template <class T>
struct Column {
  const T* value;
  int64_t stride;
};

// in columns, n values each; out X (n, d). A few rows at a time, so that these stay in the first-level cache while one
// column after the other is written to them.
template <class T>
void interleave(const std::vector<Column<T>>& columns, int64_t n, T* X) {
  constexpr int64_t AT_ONCE = 64;
  const auto d = static_cast<int64_t>(columns.size());
  for (int64_t begin = 0; begin < n; begin += AT_ONCE) {
    const int64_t end = std::min(n, begin + AT_ONCE);
    for (int64_t t = 0; t < d; ++t) {
      const auto [value, stride] = columns[t];
      for (int64_t i = begin; i < end; ++i) X[i * d + t] = value[i * stride];
    }
  }
}

}  // namespace kfree
