// Products of a group of rows and a panel of sites in vector registers. For kernel_x86.cpp alone, as registers_x86.hpp.
#pragma once
#include <cstdint>

#include "assign/int8/kernel.hpp"
#include "assign/int8/registers_x86.hpp"
#include "core/inlined.hpp"

namespace kfree {
namespace {

// Rows side by side, as many as leave registers for the sites.
#if defined(__AVX512BW__)
constexpr int GROUP = 8;
#elif defined(KFREE_VNNI)
constexpr int GROUP = 6;
#else
constexpr int GROUP = 4;
#endif
constexpr int COLUMNS = 4;
constexpr const Int8Kernel* NARROW = nullptr;
constexpr int64_t NARROW_BELOW = 0;

typedef Register Sums[GROUP][2];

typedef int32_t Loaded32 __attribute__((aligned(1), may_alias));
inline Register spread_four(const int8_t* q) { return spread32(*reinterpret_cast<const Loaded32*>(q)); }

// Calls body(0), body(1)… with constants: a loop would keep the sums in memory.
template <int I>
struct Number {
  constexpr operator int() const { return I; }
};
template <int I = 0, class Body>
KFREE_INLINE inline void for_group(Body body) {
  if constexpr (I < GROUP) {
    body(Number<I>());
    for_group<I + 1>(body);
  }
}

#if defined(KFREE_VNNI)
// Adds the products of all coordinates.
KFREE_INLINE inline void add_all(const int8_t* rows, int64_t stride, int64_t d, const int8_t* panel, Sums& sum) {
  for (int64_t t = 0; t < d; t += 4, panel += 2 * BYTES) {
    const Register left = load(panel), right = load(panel + BYTES);
    for_group([&](auto i) KFREE_INLINE {
      const Register row = spread_four(rows + i * stride + t);
      sum[i][0] = add_products(sum[i][0], row, left);
      sum[i][1] = add_products(sum[i][1], row, right);
    });
  }
}
#else
KFREE_INLINE inline void add_all(const int8_t* rows, int64_t stride, int64_t d, const int8_t* panel, Sums& sum) {
  int64_t t = 0;
  for (; t + 8 <= d; t += 8, panel += 4 * BYTES)
    for_group([&](auto i) KFREE_INLINE {
      const Register first = spread_four(rows + i * stride + t), next = spread_four(rows + i * stride + t + 4);
      const Register left = add16(pairs(first, load(panel)), pairs(next, load(panel + 2 * BYTES)));
      const Register right = add16(pairs(first, load(panel + BYTES)), pairs(next, load(panel + 3 * BYTES)));
      sum[i][0] = add32(sum[i][0], widen(left));
      sum[i][1] = add32(sum[i][1], widen(right));
    });
  if (t == d) return;
  for_group([&](auto i) KFREE_INLINE {
    const Register row = spread_four(rows + i * stride + t);
    sum[i][0] = add32(sum[i][0], widen(pairs(row, load(panel))));
    sum[i][1] = add32(sum[i][1], widen(pairs(row, load(panel + BYTES))));
  });
}
#endif

// Multiplies rows of d columns.
class Products {
 public:
  explicit Products(int64_t d) : d_(d) {}

  // half_norm + rows · sites, for a whole group. WIDTH is d where that is known to be 16, else 0.
  template <int WIDTH>
  KFREE_INLINE inline void scores(const int8_t* rows, int, int64_t stride, const int8_t* panel, const int32_t* half_norm,
                                  Sums& sum) const {
    const Register left = load(half_norm), right = load(half_norm + HALF);
    for_group([&](auto i) KFREE_INLINE {
      sum[i][0] = left;
      sum[i][1] = right;
    });
    add_all(rows, stride, WIDTH > 0 ? WIDTH : d_, panel, sum);
  }

 private:
  int64_t d_;
};

}  // namespace
}  // namespace kfree
