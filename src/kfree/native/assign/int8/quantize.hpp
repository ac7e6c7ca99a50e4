// How dense rows become bytes for the prefilter.
#pragma once
#include <memory>
#include <vector>

#include "rows/rows.hpp"

namespace kfree {

class Quantizer {
 public:
  // For rows that are given to `quantize` with canonical coordinates, rounded to float32.
  Quantizer(const Rows& rows, const Int8Kernel& int8);
  // For rows that are given as they lie, with anchor and shift (d,) still to be subtracted.
  Quantizer(const Rows& rows, const Int8Kernel& int8, const double* anchor, const double* shift);

  // Whether ranking k sites takes less time where the prefilter is tried first.
  bool pays(int64_t k) const;
  std::unique_ptr<const QuantizedSites> quantized(const Sites& sites, const Subset* some, int n_threads) const;
  // in row_of(i) (d,) for each of n_rows ≤ TILE rows, valid until the next; out q (n_rows, stride), tile
  template <class RowOf>
  void quantize(RowOf row_of, int n_rows, const QuantizedSites& sites, int8_t* q, QuantizedTile& tile) const {
    float sq_off[TILE];
    for (int i = 0; i < n_rows; ++i)
      sq_off[i] = kernels_.quantize(row_of(i), centre_.data(), static_cast<int64_t>(centre_.size()), sites.step(),
                                    q + i * sites.stride(), sites.stride(), tile.sq_norm + i);
    bound_off(sq_off, n_rows, sites, tile);
  }

 private:
  // in sq_off (n_rows,), tile.sq_norm; out tile.off
  void bound_off(const float* sq_off, int n_rows, const QuantizedSites& sites, QuantizedTile& tile) const;

  const Int8Kernel& kernels_;
  std::vector<float> centre_;  // (d,) what is still to be subtracted
  double centre_off_ = 0.0;    // how far that is from the truth
  double reach_;               // most rows have no larger coordinates
};

}  // namespace kfree
