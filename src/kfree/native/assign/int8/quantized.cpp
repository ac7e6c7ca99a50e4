#include "assign/int8/quantized.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/parallel.hpp"

namespace kfree {
namespace {

// The half norm of a place in a panel that holds no site; adding a dot product to it does not overflow.
constexpr int32_t NOBODY = 1 << 30;

int64_t whole(int64_t n, int64_t part) { return (n + part - 1) / part * part; }

}  // namespace

QuantizedSites::QuantizedSites(const Sites& sites, const Subset* some, double reach, const Int8Kernel& int8,
                               int n_threads)
    : kernels_(int8), d_(int8.padded(sites.d)), stride_(whole(d_, 16)),
      rounding_(0x1p-50 * static_cast<double>(sites.d + 16)) {
  const int64_t k = some ? static_cast<int64_t>(some->id.size()) : sites.k;
  const int64_t in_panel = int8.panel;
  const double largest = int8.largest;
  n_panels_ = whole(k, in_panel) / in_panel;
  // No score is lower than minus half the squared norm of a row.
  const double lowest = 0.5 * largest * largest * static_cast<double>(sites.d);
  while (shift_ <= MOST_SHIFT && lowest > HIGHEST_SCORE * (1 << shift_)) ++shift_;
  reach = std::max(reach, sites.max_coordinate());
  if (shift_ > MOST_SHIFT || n_panels_ > HIGHEST_SCORE || !(reach > 1e-10 && reach < 1e15)) return;
  usable_ = true;
  kernel_ = d_ == 16 ? Int8Kernel::FOR_SIXTEEN : shift_ - LEAST_SHIFT;
  step_ = static_cast<float>(reach / largest);
  panels_.resize(n_panels_ * in_panel * d_);
  half_norm_.resize(n_panels_ * in_panel, NOBODY);
  off_.resize(k);
  parallel_for(k, 4 * sites.d, n_threads, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) quantize(sites, some ? some->id[j] : j, j);
  });
  for (const double off : off_) most_off_ = std::max(most_off_, off);
}

void QuantizedSites::quantize(const Sites& sites, int64_t site, int64_t j) {
  const int64_t in_panel = kernels_.panel;
  const double largest = kernels_.largest;
  double sq_off = 0.0;
  int32_t sq_norm = 0, sum = 0;
  int8_t* panel = panels_.data() + (j / in_panel * d_ * in_panel) + j % in_panel * 4;
  for (int64_t t = 0; t < sites.d; ++t) {
    const double value = sites[site][t], q = std::clamp(std::nearbyint(value / step_), -largest, largest);
    sq_off += (value - step_ * q) * (value - step_ * q);
    sq_norm += static_cast<int32_t>(q * q);
    sum += static_cast<int32_t>(q);
    panel[t / 4 * 4 * in_panel + t % 4] = static_cast<int8_t>(-q);
  }
  half_norm_[j] = sq_norm / 2 + kernels_.bias * sum;
  off_[j] = std::sqrt(sq_off) * (1.0 + rounding_) + rounding_ * sites.norm[site];
}

double QuantizedSites::distance(const QuantizedRow& row, double score) const {
  return step_ * std::sqrt(std::max(0.0, row.sq_norm + 2.0 * score * (1 << shift_)));
}

double QuantizedSites::lower(const QuantizedRow& row, int16_t score) const {
  return (distance(row, score) - row.off - most_off_) * (1.0 - rounding_);
}

double QuantizedSites::upper(const QuantizedRow& row, int16_t score, int32_t j) const {
  // Scores were rounded down by less than one, the half of an odd norm included; the highest means "or more".
  if (score == HIGHEST_SCORE) return std::numeric_limits<double>::infinity();
  return (distance(row, score + 1.0) + row.off + off_[j]) * (1.0 + rounding_);
}

int16_t QuantizedSites::limit(const QuantizedRow& row, double upper) const {
  const double in_steps = (upper * (1.0 + rounding_) + row.off + most_off_) / step_;
  const double score = std::ceil((in_steps * in_steps * (1.0 + rounding_) - row.sq_norm) / (2 << shift_));
  return score < HIGHEST_SCORE ? static_cast<int16_t>(score) : HIGHEST_SCORE;  // also where it is not a number
}

}  // namespace kfree
