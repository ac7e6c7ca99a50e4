// Products of a tile of rows and a panel of sites by matrix instructions (AMX), which multiply 16 rows of 64 bytes by 16
// sites: some four times as many products a second as vector registers. For kernel_x86.cpp alone, as registers_x86.hpp.
#pragma once
#include <cstdint>

#include "assign/int8/kernel.hpp"
#include "assign/int8/registers_x86.hpp"
#include "assign/rank.hpp"
#include "core/inlined.hpp"

namespace kfree {
namespace {

// Rows side by side.
constexpr int GROUP = TILE;
// Sums are compared in vector registers, which they reach through memory. With fewer columns that outweighs the gain
// (benchmarks/many_cores.py: 64 columns take longer, 128 as long, 768 less time).
constexpr const Int8Kernel* NARROW = &int8_avx512vnni;
constexpr int64_t NARROW_BELOW = 256;
// Columns at once.
constexpr int COLUMNS = 64;
// Rows, or sites, of a matrix register.
constexpr int HIGH = 16;
static_assert(GROUP == 3 * HIGH && PANEL_SITES == 2 * HIGH, "six registers hold the sums");

typedef Register Sums[GROUP][2];

template <class Body>
KFREE_INLINE inline void for_group(Body body) {
  for (int i = 0; i < GROUP; ++i) body(i);
}

// The shapes of the eight registers, in the form that the instruction reads.
struct alignas(64) Shapes {
  uint8_t palette, start, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};
constexpr Shapes SHAPES = {1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

// Multiplies rows of d columns. Holds the matrix registers of this thread while it lives.
class Products {
 public:
  explicit Products(int64_t d) : d_(d) { asm volatile("ldtilecfg %0" : : "m"(SHAPES)); }
  ~Products() { _tile_release(); }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // half_norm + rows · sites for the first n_rows of a group. WIDTH is of kernels for few columns.
  template <int WIDTH>
  KFREE_INLINE inline void scores(const int8_t* rows, int n_rows, int64_t stride, const int8_t* panel,
                                  const int32_t* half_norm, Sums& sum) const {
    if (n_rows > 2 * HIGH)
      multiply<3>(rows, stride, panel, half_norm, sum);
    else if (n_rows > HIGH)
      multiply<2>(rows, stride, panel, half_norm, sum);
    else
      multiply<1>(rows, stride, panel, half_norm, sum);
  }

 private:
  // Registers 0 to 5 are sums: of the left and the right half of the panel, for N times 16 rows. 6 holds rows, 7 sites.
  template <int N>
  void multiply(const int8_t* rows, int64_t stride, const int8_t* panel, const int32_t* half_norm, Sums& sum) const {
    const int8_t *second = rows + HIGH * stride, *third = second + HIGH * stride;
    // Every row of a sum begins with the half norms of the sites.
    _tile_loadd(0, half_norm, 0);
    _tile_loadd(1, half_norm + HALF, 0);
    if constexpr (N > 1) {
      _tile_loadd(2, half_norm, 0);
      _tile_loadd(3, half_norm + HALF, 0);
    }
    if constexpr (N > 2) {
      _tile_loadd(4, half_norm, 0);
      _tile_loadd(5, half_norm + HALF, 0);
    }
    for (int64_t t = 0; t < d_; t += COLUMNS) {
      const int8_t* sites = panel + t * PANEL_SITES;
      // Sites come from the second-level cache.
      for (int64_t ahead = 64 * PANEL_SITES; ahead < 128 * PANEL_SITES; ahead += 64) __builtin_prefetch(sites + ahead);
      _tile_loadd(7, sites, 2 * BYTES);
      _tile_loadd(6, rows + t, stride);
      _tile_dpbusd(0, 6, 7);
      if constexpr (N > 1) {
        _tile_loadd(6, second + t, stride);
        _tile_dpbusd(2, 6, 7);
      }
      if constexpr (N > 2) {
        _tile_loadd(6, third + t, stride);
        _tile_dpbusd(4, 6, 7);
      }
      // The rows in reverse, since the last ones are there.
      _tile_loadd(7, sites + BYTES, 2 * BYTES);
      if constexpr (N > 2) {
        _tile_dpbusd(5, 6, 7);
        _tile_loadd(6, second + t, stride);
      }
      if constexpr (N > 1) {
        _tile_dpbusd(3, 6, 7);
        _tile_loadd(6, rows + t, stride);
      }
      _tile_dpbusd(1, 6, 7);
    }
    _tile_stored(0, &sum[0][0], sizeof sum[0]);
    _tile_stored(1, &sum[0][1], sizeof sum[0]);
    if constexpr (N > 1) {
      _tile_stored(2, &sum[HIGH][0], sizeof sum[0]);
      _tile_stored(3, &sum[HIGH][1], sizeof sum[0]);
    }
    if constexpr (N > 2) {
      _tile_stored(4, &sum[2 * HIGH][0], sizeof sum[0]);
      _tile_stored(5, &sum[2 * HIGH][1], sizeof sum[0]);
    }
  }

  int64_t d_;
};

}  // namespace
}  // namespace kfree
