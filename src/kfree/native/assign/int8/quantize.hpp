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

  std::unique_ptr<const QuantizedSites> quantized(const Sites& sites, const Subset* some, int n_threads) const;
  // in row (d,); out q (stride,)
  QuantizedRow quantize(const float* row, const QuantizedSites& sites, int8_t* q) const;

 private:
  const Int8Kernel& kernels_;
  std::vector<float> centre_;  // (d,) what is still to be subtracted
  double centre_off_ = 0.0;    // how far that is from the truth
  double reach_;               // most rows have no larger coordinates
};

}  // namespace kfree
