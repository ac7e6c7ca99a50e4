// Draws in proportion to numbers that rows have, by a descent of the tree over block numbers; core/masses.py has the
// reference implementation under the same name.
#pragma once
#include <cstdint>
#include <vector>

namespace kfree {

class Masses {
 public:
  // in mass (n,), not negative, which is read until the last draw
  Masses(const double* mass, int64_t n, int64_t block);

  double total() const { return levels_.back()[0]; }
  // The row at which the running sum exceeds the target; a node without mass is not chosen unless all are.
  int64_t row_at(double target) const;

 private:
  int64_t row_within(int64_t begin, int64_t end, double target) const;

  const double* mass_;
  const int64_t n_, block_;
  std::vector<std::vector<double>> levels_;  // the masses of the nodes of each level, from blocks to the total
};

}  // namespace kfree
