// The int8 prefilter: rows and sites in eight bits, ranked by dot products of bytes, several times as fast as in
// float32. The quantisation error is measured for each row and each site, so the triangle inequality shows which rows
// are decided and bounds the distance to any other site. The rest is ranked in float32.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "assign/int8/kernel.hpp"
#include "core/aligned_bytes.hpp"
#include "rows/sites.hpp"

namespace kfree {

// A quantised row: it lies within `off` of step·q, and sq_norm = Σ q².
struct QuantizedRow {
  double off;
  int32_t sq_norm;
};

// Those of a tile.
struct QuantizedTile {
  double off[TILE];
  int32_t sq_norm[TILE];

  QuantizedRow operator[](int i) const { return {off[i], sq_norm[i]}; }
};

// Quantised sites: multiples of `step` in every coordinate.
class QuantizedSites {
 public:
  // All sites, or those of a subset if that is not null. Coordinates of rows are seldom larger than `reach`.
  QuantizedSites(const Sites& sites, const Subset* some, double reach, const Int8Kernel& int8, int n_threads);
  // Whether quantisation is possible: neither too many columns nor numbers outside float32's range.
  bool usable() const { return usable_; }

  float step() const { return step_; }
  int64_t stride() const { return stride_; }
  int64_t n_panels() const { return n_panels_; }
  // How many values `rank` leaves in `lowest`.
  int64_t n_left() const { return kernels_.n_left(d_, n_panels_); }
  void rank(const int8_t* q, int n_rows, int16_t* best, int16_t* second, int32_t* index, int16_t* lowest) const {
    kernels_.rank[kernel_](q, stride_, n_rows, d_, panels_.data(), half_norm_.data(), n_panels_, best, second, index,
                           lowest);
  }
  void list(const int8_t* q, int n_rows, const int16_t* limit, const int32_t* place, const int16_t* lowest,
            int32_t* candidate, int32_t* n_candidates) const {
    kernels_.list[kernel_](q, stride_, n_rows, d_, panels_.data(), half_norm_.data(), n_panels_, limit, place, lowest,
                           candidate, n_candidates);
  }

  // No site with a score of at least this is nearer to the row than this distance.
  double lower(const QuantizedRow& row, int16_t score) const;
  // Site j, which has this score, is no farther.
  double upper(const QuantizedRow& row, int16_t score, int32_t j) const;
  // A site at this squared distance, computed canonically, is no farther.
  double upper(double sq_dist) const { return std::sqrt(sq_dist) * (1.0 + rounding_); }
  // A score above which no site is as near as `upper`; the highest if there is none.
  int16_t limit(const QuantizedRow& row, double upper) const;

 private:
  void quantize(const Sites& sites, int64_t site, int64_t j);
  double distance(const QuantizedRow& row, double score) const;

  const Int8Kernel& kernels_;
  bool usable_ = false;
  int64_t d_, stride_, n_panels_;  // d_ as the kernel pads it, stride_ in whole sixteens
  float step_ = 0.0f;
  int shift_ = LEAST_SHIFT, kernel_ = 0;
  AlignedBytes panels_;
  std::vector<int32_t> half_norm_;
  std::vector<double> off_;  // the quantisation error of each site
  double most_off_ = 0.0, rounding_;
};

}  // namespace kfree
