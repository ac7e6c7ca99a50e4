#include "samplers/collapsed.hpp"

#include <utility>

namespace kfree {
namespace {

// A pivot below this share of its diagonal is rounding.
constexpr double SINGULAR = 1e-14;

double half_log_det(const std::vector<double>& factor, int64_t d) {
  double sum = 0.0;
  for (int64_t j = 0; j < d; ++j) sum += std::log(factor[j * d + j]);
  return sum;
}

}  // namespace

CollapsedChain::CollapsedChain(const double* x, int64_t n, int64_t d, const int32_t* label, uint64_t seed,
                               NormalWishart prior)
    : x_(x), n_(n), d_(d), slots_(label, n), random_(seed), prior_(std::move(prior)) {
  empty_.mean.assign(d, 0.0);
  std::vector<double> B = prior_.B0;
  factorise(empty_, B);
}

void CollapsedChain::sweep(double log_alpha) {
  clusters_.assign(slots_.size(), empty_);
  for (int64_t c = 0; c < slots_.size(); ++c) rebuild(c, -1);  // rounding does not add up over sweeps
  for (int64_t i = 0; i < n_; ++i) {
    const double* row = x_ + i * d_;
    leave(i, slots_.label[i]);
    const int64_t k = slots_.size();
    weight_.resize(k + 1);
    for (int64_t c = 0; c < k; ++c) {
      const int64_t count = slots_.count[c];
      weight_[c] = count == 0 ? -std::numeric_limits<double>::infinity()
                              : std::log(static_cast<double>(count)) + log_predictive(row, clusters_[c], count);
    }
    weight_[k] = log_alpha + log_predictive(row, empty_, 0);
    int64_t chosen = draw(weight_, k + 1, random_);
    if (chosen == k) {
      chosen = slots_.vacant();
      if (chosen == k) clusters_.push_back(empty_);
      clusters_[chosen] = empty_;
    }
    join(i, chosen);
  }
  slots_.close_gaps();
}

void CollapsedChain::leave(int64_t row, int64_t slot) {
  const int64_t left = --slots_.count[slot];
  if (left == 0) return;
  Cluster& cluster = clusters_[slot];
  const double xi = prior_.xi0 + static_cast<double>(left + 1), scale = std::sqrt(xi / (xi - 1.0));
  for (int64_t t = 0; t < d_; ++t) {
    const double gap = x_[row * d_ + t] - cluster.mean[t];
    gap_[t] = scale * gap;
    cluster.mean[t] -= gap / (xi - 1.0);
  }
  if (!turn(cluster, -1.0)) rebuild(slot, row);
}

void CollapsedChain::join(int64_t row, int64_t slot) {
  Cluster& cluster = clusters_[slot];
  const double xi = prior_.xi0 + static_cast<double>(slot < slots_.size() ? slots_.count[slot] : 0);
  const double scale = std::sqrt(xi / (xi + 1.0));
  for (int64_t t = 0; t < d_; ++t) {
    const double gap = x_[row * d_ + t] - cluster.mean[t];
    gap_[t] = scale * gap;
    cluster.mean[t] += gap / (xi + 1.0);
  }
  turn(cluster, 1.0);
  slots_.put(row, slot);
}

// LLᵀ ± gap·gapᵀ by rotations (Golub & Van Loan 2013, §6.5.4); false where subtracting leaves no positive pivot.
bool CollapsedChain::turn(Cluster& cluster, double sign) {
  for (int64_t j = 0; j < d_; ++j) {
    double* column = cluster.factor.data() + j * d_;
    const double pivot = column[j], square = pivot * pivot + sign * (gap_[j] * gap_[j]);
    if (!(square > SINGULAR * (pivot * pivot))) return false;
    const double turned = std::sqrt(square), c = turned / pivot, s = gap_[j] / pivot;
    column[j] = turned;
    for (int64_t t = j + 1; t < d_; ++t) {
      column[t] = (column[t] + sign * (s * gap_[t])) / c;
      gap_[t] = c * gap_[t] - s * column[t];
    }
  }
  cluster.half_log_det = half_log_det(cluster.factor, d_);
  return true;
}

// The posterior of a slot from its rows, one of which may be left out.
void CollapsedChain::rebuild(int64_t slot, int64_t without_row) {
  std::vector<double> mean(d_, 0.0), B = prior_.B0, gap(d_);
  const double count = static_cast<double>(slots_.count[slot]), xi = prior_.xi0 + count;
  const auto each_row = [&](auto visit) {
    for (int64_t i = 0; i < n_; ++i)
      if (slots_.label[i] == slot && i != without_row) visit(x_ + i * d_);
  };
  const auto add_square = [&](double factor) {
    for (int64_t j = 0; j < d_; ++j)
      for (int64_t t = j; t < d_; ++t) B[j * d_ + t] += factor * (gap[j] * gap[t]);
  };
  each_row([&](const double* row) {
    for (int64_t t = 0; t < d_; ++t) mean[t] += row[t];
  });
  for (int64_t t = 0; t < d_; ++t) mean[t] /= count;
  each_row([&](const double* row) {
    for (int64_t t = 0; t < d_; ++t) gap[t] = row[t] - mean[t];
    add_square(1.0);
  });
  gap = mean;
  add_square(prior_.xi0 * count / xi);
  Cluster& cluster = clusters_[slot];
  for (int64_t t = 0; t < d_; ++t) cluster.mean[t] = mean[t] * (count / xi);
  factorise(cluster, B);
}

// Cholesky's factor by columns; in B, of which the columns are read from the diagonal on and overwritten.
void CollapsedChain::factorise(Cluster& cluster, std::vector<double>& B) {
  gap_.assign(d_, 0.0);
  cluster.factor.assign(d_ * d_, 0.0);
  std::vector<double> diagonal(d_);
  for (int64_t j = 0; j < d_; ++j) diagonal[j] = B[j * d_ + j];
  for (int64_t j = 0; j < d_; ++j) {
    double* column = cluster.factor.data() + j * d_;
    column[j] = std::sqrt(std::max(B[j * d_ + j], SINGULAR * diagonal[j]));
    for (int64_t t = j + 1; t < d_; ++t) column[t] = B[j * d_ + t] / column[j];
    for (int64_t i = j + 1; i < d_; ++i)
      for (int64_t t = i; t < d_; ++t) B[i * d_ + t] -= column[i] * column[t];
  }
  cluster.half_log_det = half_log_det(cluster.factor, d_);
}

// Student's t with η − d + 1 degrees of freedom.
double CollapsedChain::log_predictive(const double* row, const Cluster& cluster, int64_t count) {
  for (int64_t t = 0; t < d_; ++t) gap_[t] = row[t] - cluster.mean[t];
  double sq_dist = 0.0;
  for (int64_t j = 0; j < d_; ++j) {
    const double* column = cluster.factor.data() + j * d_;
    const double solved = gap_[j] / column[j];
    for (int64_t t = j + 1; t < d_; ++t) gap_[t] -= solved * column[t];
    sq_dist += solved * solved;
  }
  const double xi = prior_.xi0 + static_cast<double>(count), eta = prior_.eta0 + static_cast<double>(count);
  return prior_.at_centre[count] - cluster.half_log_det - 0.5 * (eta + 1.0) * std::log1p(sq_dist * (xi / (xi + 1.0)));
}

}  // namespace kfree
