#include "samplers/spherical.hpp"

namespace kfree {
namespace {

constexpr int64_t SLOTS_AT_ONCE = 16;

}  // namespace

SphericalChain::SphericalChain(const double* x, int64_t n, int64_t d, const int32_t* label, uint64_t seed,
                               double sigma, double rho)
    : x_(x), n_(n), d_(d), slots_(label, n), random_(seed) {
  for (int64_t count = 0; count <= n; ++count) log_count_.push_back(std::log(static_cast<double>(count)));
  draw_means(sigma, rho);
}

void SphericalChain::sweep(double log_alpha, double sigma, double rho) {
  const double log_new = log_alpha + 0.5 * static_cast<double>(d_) * std::log(sigma / (rho + sigma));
  for (int64_t i = 0; i < n_; ++i) {
    const double* row = x_ + i * d_;
    --slots_.count[slots_.label[i]];
    sq_dists(row);
    const int64_t k = slots_.size();
    for (int64_t c = 0; c < k; ++c) weight_[c] = log_count_[slots_.count[c]] - weight_[c] / (2.0 * sigma);
    double sq_length = 0.0;
    for (int64_t t = 0; t < d_; ++t) sq_length += row[t] * row[t];
    weight_[k] = log_new - sq_length / (2.0 * (rho + sigma));
    int64_t chosen = draw(weight_, k + 1, random_);
    if (chosen == k) chosen = open(row, sigma, rho);
    slots_.put(i, chosen);
  }
  slots_.close_gaps();
  draw_means(sigma, rho);
}

// weight_[c] = ‖row − μ_c‖² for every slot, terms added in order.
void SphericalChain::sq_dists(const double* row) {
  weight_.assign(stride_ + 1, 0.0);
  for (int64_t begin = 0; begin < slots_.size(); begin += SLOTS_AT_ONCE) {
    double* sum = weight_.data() + begin;
    for (int64_t t = 0; t < d_; ++t) {
      const double* mean = mean_.data() + t * stride_ + begin;
      for (int64_t c = 0; c < SLOTS_AT_ONCE; ++c) {
        const double gap = row[t] - mean[c];
        sum[c] += gap * gap;
      }
    }
  }
}

// A slot for a cluster of this row alone, its mean drawn given the row.
int64_t SphericalChain::open(const double* row, double sigma, double rho) {
  const int64_t slot = slots_.vacant();
  if (slot == stride_) {
    std::vector<double> wider(d_ * 2 * stride_, 0.0);
    for (int64_t t = 0; t < d_; ++t)
      std::copy_n(mean_.begin() + t * stride_, stride_, wider.begin() + t * 2 * stride_);
    mean_.swap(wider);
    stride_ *= 2;
  }
  const double share = rho / (sigma + rho), spread = std::sqrt(sigma * share);
  for (int64_t t = 0; t < d_; ++t) mean_[t * stride_ + slot] = share * row[t] + spread * random_.normal();
  return slot;
}

void SphericalChain::draw_means(double sigma, double rho) {
  const int64_t k = slots_.size();
  sum_.assign(k * d_, 0.0);
  for (int64_t i = 0; i < n_; ++i) {
    double* sum = sum_.data() + slots_.label[i] * d_;
    for (int64_t t = 0; t < d_; ++t) sum[t] += x_[i * d_ + t];
  }
  stride_ = (k / SLOTS_AT_ONCE + 1) * SLOTS_AT_ONCE;
  mean_.assign(d_ * stride_, 0.0);
  for (int64_t c = 0; c < k; ++c) {
    const double share = rho / (sigma + rho * static_cast<double>(slots_.count[c])), spread = std::sqrt(sigma * share);
    for (int64_t t = 0; t < d_; ++t) mean_[t * stride_ + c] = share * sum_[c * d_ + t] + spread * random_.normal();
  }
}

double SphericalChain::sq_error() const {
  double total = 0.0;
  for (int64_t i = 0; i < n_; ++i)
    for (int64_t t = 0; t < d_; ++t) {
      const double gap = x_[i * d_ + t] - mean_[t * stride_ + slots_.label[i]];
      total += gap * gap;
    }
  return total;
}

}  // namespace kfree
