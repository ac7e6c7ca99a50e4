// How dense rows become bytes for a glance.
#pragma once
#include <memory>
#include <vector>

#include "rows.hpp"

namespace kfree {

class Narrowing {
 public:
  // For rows that are given to `narrow` with canonical coordinates, rounded to float32.
  Narrowing(const Rows& rows, const Glancer& glancer);
  // For rows that are given as they lie, with anchor and shift (d,) still to be subtracted.
  Narrowing(const Rows& rows, const Glancer& glancer, const double* anchor, const double* shift);

  std::unique_ptr<const NarrowSites> narrowed(const Sites& sites, const Subset* some) const;
  // in row (d,); out q (stride,)
  NarrowRow narrow(const float* row, const NarrowSites& sites, int8_t* q) const;

 private:
  const Glancer& glancer_;
  std::vector<float> centre_;  // (d,) what is still to be subtracted
  double centre_off_ = 0.0;    // how far that is from the truth
  double reach_;               // most rows have no larger coordinates
};

}  // namespace kfree
