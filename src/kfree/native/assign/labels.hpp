// Labels that come from outside, as those of a damaged model: what is no cluster raises before anything is written.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace kfree {

inline void require_labels(const int32_t* label, int64_t n, int64_t k) {
  uint32_t largest = 0;  // a negative label is larger than any cluster's
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<uint32_t>(label[i]));
  if (n > 0 && largest >= k)
    throw std::invalid_argument("rows of X have labels beyond " + std::to_string(k) + " clusters. Fit the model again.");
}

}  // namespace kfree
