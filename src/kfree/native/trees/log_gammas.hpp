// log Γ(prior + c) − log Γ(prior) for whole c, in whole units: sums and differences are exact in any order, so that
// costs which are equal in theory are equal here, and ties are distinguished from near ties.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kfree {

inline int64_t in_units(double value, double unit) { return std::llround(value / unit); }

class LogGammas {
 public:
  // Values up to `largest` are looked up, as far as they fit into a table of 8 MB, and into one of `n_uses`: a table
  // that is made for fewer uses than it has entries takes longer than it saves.
  LogGammas(double prior, double unit, int64_t largest, int64_t n_uses) : prior_(prior), unit_(unit) {
    const int64_t size = std::min({largest + 1, n_uses, int64_t{1} << 20});
    for (int64_t c = 0; c < size; ++c) table_.push_back(computed(c));
  }
  int64_t operator()(int64_t c) const {
    return c < static_cast<int64_t>(table_.size()) ? table_[c] : computed(c);
  }

 private:
  int64_t computed(int64_t c) const {
    int sign;  // lgamma would write it to a variable that all threads share
    return in_units(lgamma_r(prior_ + static_cast<double>(c), &sign) - lgamma_r(prior_, &sign), unit_);
  }

  double prior_, unit_;
  std::vector<int64_t> table_;
};

}  // namespace kfree
