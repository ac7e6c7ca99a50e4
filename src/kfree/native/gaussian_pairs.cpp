#include "gaussian_pairs.hpp"

#include "triangle.hpp"

namespace kfree {
namespace {

// Floors are lowered by this share of what they are the difference of, far more than rounding can have raised them.
constexpr double SLACK = 1e-9;

// Room for a computation, one per thread.
double* scratch(int64_t size) {
  static thread_local std::vector<double> room;
  if (static_cast<int64_t>(room.size()) < size) room.resize(size);
  return room.data();
}

// det(I + α·t·tᵀ + β·m·mᵀ). What is left of t across m is squared by itself: |t|²|m|² − (t·m)² would cancel.
double two_step_det(const double* t, const double* m, double alpha, double beta, int64_t d) {
  double tt = 0, tm = 0, mm = 0, across = 0;
  for (int64_t i = 0; i < d; ++i) {
    tt += t[i] * t[i];
    tm += t[i] * m[i];
    mm += m[i] * m[i];
  }
  const double along = mm > 0 ? tm / mm : 0;
  for (int64_t i = 0; i < d; ++i) {
    const double rest = t[i] - along * m[i];
    across += rest * rest;
  }
  return 1 + alpha * tt + beta * mm * (1 + alpha * across);
}

}  // namespace

GaussianPairs::GaussianPairs(const double* rows, int64_t n, int64_t d, double xi0, double eta0,
                             const double* size_terms)
    : d_(d), xi0_(xi0), eta0_(eta0), size_terms_(size_terms, size_terms + n + 1), n_(n, 1.0), mean_(rows, rows + n * d),
      shape_(n) {
  for (int64_t c = 0; c < n; ++c) {
    double sq_norm = 0;
    for (int64_t i = 0; i < d; ++i) sq_norm += mean(c)[i] * mean(c)[i];
    energy_.push_back(energy(1, std::log(1 + pull(1) * sq_norm)));
  }
}

double GaussianPairs::log_det_at_mean(int64_t base, int64_t other) const {
  const double n_base = n_[base], n_other = n_[other], n = n_base + n_other;
  double *gap = scratch(3 * d_), *step = gap, *middle = gap + d_;
  for (int64_t i = 0; i < d_; ++i) gap[i] = mean(other)[i] - mean(base)[i];
  double log_det = 0;
  if (const Shape* shape = shape_[base].get()) {
    step = middle + d_;
    triangle::multiply(shape->whitener.data(), gap, step, d_);
    for (int64_t i = 0; i < d_; ++i) middle[i] = shape->white_mean[i] + n_other / n * step[i];
    log_det = shape->log_det;
  } else {
    for (int64_t i = 0; i < d_; ++i) middle[i] = (mean(base)[i] + mean(other)[i]) / 2;
  }
  return log_det + std::log(two_step_det(step, middle, n_base * n_other / n, pull(n), d_));
}

double GaussianPairs::floor(int64_t b) const {
  const bool asker_is_row = !shape_[asker_];
  const double log_det = asker_is_row ? log_det_at_mean(b, asker_) : log_det_at_mean(asker_, b);
  const double merged = energy(n_[asker_] + n_[b], log_det), apart = energy_[asker_] + energy_[b];
  const double slack = floor_is_cost(b) ? 0 : SLACK * (1 + std::abs(merged) + std::abs(apart));
  return merged - apart - slack;
}

double GaussianPairs::cost(int64_t b) const {
  if (floor_is_cost(b)) return floor(b);
  return energy(n_[asker_] + n_[b], log_det_merged(asker_, b)) - (energy_[asker_] + energy_[b]);
}

double GaussianPairs::log_det_merged(int64_t a, int64_t b) const {
  const int64_t size = triangle::size(d_);
  const double n_a = n_[a], n_b = n_[b], n = n_a + n_b;
  double *B = scratch(size + 2 * d_), *gap = B + size, *middle = gap + d_;
  for (int64_t i = 0; i < d_; ++i) {
    gap[i] = mean(a)[i] - mean(b)[i];
    middle[i] = (n_a * mean(a)[i] + n_b * mean(b)[i]) / n;
  }
  for (int64_t i = 0; i < size; ++i) B[i] = shape_[a]->scatter[i] + shape_[b]->scatter[i];
  triangle::add_outer(B, gap, n_a * n_b / n, d_);
  triangle::add_outer(B, middle, pull(n), d_);
  triangle::add_identity(B, d_);
  return triangle::factorise(B, d_);
}

GaussianPairs::Shape GaussianPairs::shape_of(int64_t a, int64_t b) const {
  const int64_t size = triangle::size(d_);
  Shape merged{std::vector<double>(size), std::vector<double>(size), std::vector<double>(d_)};
  for (int64_t c : {a, b})
    for (int64_t i = 0; shape_[c] && i < size; ++i) merged.scatter[i] += shape_[c]->scatter[i];
  double *factors = scratch(size + d_), *gap = factors + size;
  for (int64_t i = 0; i < d_; ++i) gap[i] = mean(a)[i] - mean(b)[i];
  triangle::add_outer(merged.scatter.data(), gap, n_[a] * n_[b] / (n_[a] + n_[b]), d_);
  std::copy(merged.scatter.begin(), merged.scatter.end(), factors);
  triangle::add_identity(factors, d_);
  merged.log_det = triangle::factorise(factors, d_);
  triangle::whitener(factors, merged.whitener.data(), d_);
  return merged;
}

void GaussianPairs::absorb(int64_t a, int64_t b) {
  auto merged = std::make_unique<Shape>(shape_of(a, b));
  const double n = n_[a] + n_[b];
  double* mean_a = mean_.data() + a * d_;
  for (int64_t i = 0; i < d_; ++i) mean_a[i] = (n_[a] * mean_a[i] + n_[b] * mean(b)[i]) / n;
  triangle::multiply(merged->whitener.data(), mean_a, merged->white_mean.data(), d_);
  double sq_norm = 0;
  for (double t : merged->white_mean) sq_norm += t * t;
  n_[a] = n;
  energy_[a] = energy(n, merged->log_det + std::log(1 + pull(n) * sq_norm));
  shape_[a] = std::move(merged);
  shape_[b].reset();
}

}  // namespace kfree
