// Draws of rows in proportion to numbers that they have.
#include <algorithm>
#include <utility>

#include "assign/passes.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

// The sums of N whole blocks, in row order. A sum waits for the one before it, so that several are added up at once.
template <int N>
void add_up(const double* mass, int64_t block, double* sum) {
  double total[N] = {};
  for (int64_t i = 0; i < block; ++i)
    for (int j = 0; j < N; ++j) total[j] += mass[j * block + i];
  std::copy_n(total, N, sum);
}

std::vector<double> block_sums(const double* mass, int64_t n, int64_t block) {
  std::vector<double> sum(n_blocks(n, block));
  const int64_t n_whole = n / block;
  int64_t b = 0;
  for (; b + 8 <= n_whole; b += 8) add_up<8>(mass + b * block, block, sum.data() + b);
  for (; b + 2 <= n_whole; b += 2) add_up<2>(mass + b * block, block, sum.data() + b);
  for (; b < n_blocks(n, block); ++b) add_up<1>(mass + b * block, std::min(block, n - b * block), sum.data() + b);
  return sum;
}

}  // namespace

Masses::Masses(const double* mass, int64_t n, int64_t block) : mass_(mass), n_(n), block_(block) {
  levels_.push_back(block_sums(mass, n, block));
  while (levels_.back().size() > 1) {
    const std::vector<double>& below = levels_.back();
    std::vector<double> pairs((below.size() + 1) / 2);
    for (size_t i = 0; i < pairs.size(); ++i)
      pairs[i] = 2 * i + 1 < below.size() ? below[2 * i] + below[2 * i + 1] : below[2 * i];
    levels_.push_back(std::move(pairs));
  }
}

int64_t Masses::row_at(double target) const {
  int64_t index = 0;
  for (auto level = levels_.rbegin() + 1; level != levels_.rend(); ++level) {
    index *= 2;
    const double left = (*level)[index];
    const double right = index + 1 < static_cast<int64_t>(level->size()) ? (*level)[index + 1] : 0.0;
    if (target < left || !(right > 0.0)) continue;
    target -= left;
    ++index;
  }
  return row_within(index * block_, std::min(n_, (index + 1) * block_), target);
}

int64_t Masses::row_within(int64_t begin, int64_t end, double target) const {
  double sum = 0.0;
  for (int64_t i = begin; i < end; ++i) {
    sum += mass_[i];
    if (sum > target) return i;
  }
  // The last row with mass.
  const double all = sum;
  sum = 0.0;
  for (int64_t i = begin; i < end; ++i) {
    sum += mass_[i];
    if (!(sum < all)) return i;
  }
  return end - 1;
}

}  // namespace kfree
