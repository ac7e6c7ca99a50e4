// The clusters of a chain: numbered slots with rows, of which a sweep may empty some and fill others.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "samplers/random.hpp"

namespace kfree {

// Labels of the rows and the number of rows per slot. A slot without rows is free; the lowest free one is taken first.
struct Slots {
  std::vector<int32_t> label;
  std::vector<int64_t> count;

  Slots(const int32_t* given, int64_t n) : label(given, given + n) {
    for (const int32_t c : label) {
      if (c >= static_cast<int64_t>(count.size())) count.resize(c + 1, 0);
      ++count[c];
    }
  }

  int64_t size() const { return static_cast<int64_t>(count.size()); }

  // The slot that a new cluster takes; may be size(), which adds one.
  int64_t vacant() const { return std::find(count.begin(), count.end(), 0) - count.begin(); }

  void put(int64_t row, int64_t slot) {
    if (slot == size()) count.push_back(0);
    label[row] = static_cast<int32_t>(slot);
    ++count[slot];
  }

  // For each slot with rows its place after free slots are left out, −1 for free ones; labels and counts follow.
  std::vector<int64_t> close_gaps() {
    std::vector<int64_t> place(count.size(), -1);
    int64_t k = 0;
    for (int64_t c = 0; c < size(); ++c)
      if (count[c] > 0) {
        place[c] = k;
        count[k++] = count[c];
      }
    count.resize(k);
    for (int32_t& c : label) c = static_cast<int32_t>(place[c]);
    return place;
  }
};

// A weight below e^−60 of the highest counts as zero: a uniform number has 53 bits, and 2^−53 is e^−37.
constexpr double LEAST_LOG_SHARE = -60.0;

// Draws one of the indices with probability ∝ exp(log_weight); −inf is never drawn. in-out: the weights are consumed.
inline int64_t draw(std::vector<double>& log_weight, int64_t n, Random& random) {
  const double highest = *std::max_element(log_weight.begin(), log_weight.begin() + n);
  double total = 0.0;
  for (int64_t c = 0; c < n; ++c) {
    const double log_share = log_weight[c] - highest;
    if (log_share >= LEAST_LOG_SHARE) total += std::exp(log_share);
    log_weight[c] = total;
  }
  const double target = random.uniform() * total;
  return std::upper_bound(log_weight.begin(), log_weight.begin() + n - 1, target) - log_weight.begin();
}

}  // namespace kfree
