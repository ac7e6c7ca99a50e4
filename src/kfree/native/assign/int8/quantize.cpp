#include "assign/int8/quantize.hpp"

#include <algorithm>
#include <cmath>

namespace kfree {
namespace {

// A few rows show how large coordinates are; the largest of them might be an outlier.
constexpr int64_t SAMPLE = 256, PERCENT_WITHIN_REACH = 95;

double typical_reach(const Rows& rows) {
  std::vector<double> z(rows.d), largest;
  const int64_t n_sampled = std::min(rows.n, SAMPLE);
  for (int64_t i = 0; i < n_sampled; ++i) {
    rows.copy(i * (rows.n / n_sampled), z.data());
    double most = 0.0;
    for (const double value : z) most = std::max(most, std::fabs(value));
    largest.push_back(most);
  }
  if (largest.empty()) return 0.0;
  const auto reach = largest.begin() + n_sampled * PERCENT_WITHIN_REACH / 100;
  std::nth_element(largest.begin(), reach, largest.end());
  return *reach;
}

}  // namespace

Quantizer::Quantizer(const Rows& rows, const Int8Kernel& int8) : kernels_(int8), centre_(rows.d, 0.0f), reach_(typical_reach(rows)) {}

Quantizer::Quantizer(const Rows& rows, const Int8Kernel& int8, const double* anchor, const double* shift)
    : Quantizer(rows, int8) {
  double sq_off = 0.0, sq_norm = 0.0;
  for (int64_t t = 0; t < rows.d; ++t) {
    centre_[t] = static_cast<float>(anchor[t] + shift[t]);
    const double off = (anchor[t] - static_cast<double>(centre_[t])) + shift[t];
    sq_off += off * off;
    sq_norm += anchor[t] * anchor[t] + shift[t] * shift[t];
  }
  centre_off_ = std::sqrt(sq_off) * (1.0 + 0x1p-40) + 0x1p-50 * std::sqrt(sq_norm);
}

bool Quantizer::pays(int64_t k) const {
  const auto d = static_cast<int64_t>(centre_.size());
  return d >= kernels_.least_columns && k >= kernels_.least_sites + kernels_.least_values / d;
}

std::unique_ptr<const QuantizedSites> Quantizer::quantized(const Sites& sites, const Subset* some,
                                                                int n_threads) const {
  auto found = std::make_unique<QuantizedSites>(sites, some, reach_, kernels_, n_threads);
  return found->usable() ? std::move(found) : nullptr;
}

void Quantizer::bound_off(const float* sq_off, int n_rows, const QuantizedSites& sites, QuantizedTile& tile) const {
  // All roundings in float32, also of these roots, are relative to the row and to what is left of it; what underflows is
  // less than the rest.
  const double of_rest = 1.0 + 0x1p-22 * static_cast<double>(centre_.size() + 8), of_row = 0x1p-21 * sites.step();
  for (int i = 0; i < n_rows; ++i)
    tile.off[i] = of_rest * std::sqrt(sq_off[i]) + of_row * std::sqrt(static_cast<float>(tile.sq_norm[i])) +
                  centre_off_ + 1e-17;
}

}  // namespace kfree
