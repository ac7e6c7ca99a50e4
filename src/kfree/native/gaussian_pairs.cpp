#include "gaussian_pairs.hpp"

#include <limits>

#include "triangle.hpp"

namespace kfree {
namespace {

// Floors are lowered by this share of what they are the difference of, far more than rounding can have raised them.
constexpr double SLACK = 1e-9;

// det(I + α·t·tᵀ + β·m·mᵀ). What is left of t across m is squared by itself: |t|²|m|² − (t·m)² would cancel.
Four two_step_det(const Four* t, const Four* m, Four alpha, Four beta, int64_t d) {
  Four tt = 0.0, tm = 0.0, mm = 0.0, across = 0.0;
  for (int64_t i = 0; i < d; ++i) {
    tt += t[i] * t[i];
    tm += t[i] * m[i];
    mm += m[i] * m[i];
  }
  const Four along = tm / max(mm, std::numeric_limits<double>::min());
  for (int64_t i = 0; i < d; ++i) {
    const Four rest = t[i] - along * m[i];
    across += rest * rest;
  }
  return 1.0 + alpha * tt + beta * mm * (1.0 + alpha * across);
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

void GaussianPairs::ask(int64_t a, const std::vector<int64_t>&) {
  asker_ = a;
  if (const Shape* shape = shape_[a].get()) asked_whitener_.assign(shape->whitener.begin(), shape->whitener.end());
}

Four GaussianPairs::log_det_of_rows(const int64_t* others) const {
  Four *gap = scratch(2 * d_), *middle = gap + d_;
  for (int64_t i = 0; i < d_; ++i) {
    const Four theirs = four([&](int64_t lane) { return mean(others[lane])[i]; });
    gap[i] = theirs - mean(asker_)[i];
    middle[i] = (theirs + mean(asker_)[i]) * 0.5;
  }
  return log(two_step_det(gap, middle, 0.5, pull(2), d_));
}

Four GaussianPairs::log_det_at_mean(const int64_t* others) const {
  const int64_t size = triangle::size(d_);
  Four *gap = scratch(3 * d_ + size), *step = gap + d_, *middle = step + d_, *gathered = middle + d_;
  const Four* whitener = asked_whitener_.data();
  const Shape *shape[LANES], *asked = shape_[asker_].get();
  for (int64_t lane = 0; lane < LANES; ++lane) shape[lane] = asked ? asked : shape_[others[lane]].get();
  if (!asked) {
    for (int64_t i = 0; i < size; ++i) gathered[i] = four([&](int64_t lane) { return shape[lane]->whitener[i]; });
    whitener = gathered;
  }
  // From the shape's mean to the other one's.
  for (int64_t i = 0; i < d_; ++i)
    gap[i] = (four([&](int64_t lane) { return mean(others[lane])[i]; }) - mean(asker_)[i]) * (asked ? 1.0 : -1.0);
  triangle::multiply(whitener, gap, step, d_);
  const Four theirs = four([&](int64_t lane) { return n_[others[lane]]; }), n = theirs + n_[asker_];
  const Four share = (asked ? theirs : Four(n_[asker_])) / n;
  for (int64_t i = 0; i < d_; ++i)
    middle[i] = four([&](int64_t lane) { return shape[lane]->white_mean[i]; }) + share * step[i];
  const Four det = two_step_det(step, middle, theirs * n_[asker_] / n, n * xi0_ / (n + xi0_), d_);
  return four([&](int64_t lane) { return shape[lane]->log_det; }) + log(det);
}

Four GaussianPairs::log_det_of_shapes(const int64_t* others) const {
  const int64_t size = triangle::size(d_);
  Four *B = scratch(size + 2 * d_), *gap = B + size, *middle = gap + d_;
  const Four theirs = four([&](int64_t lane) { return n_[others[lane]]; }), ours = n_[asker_], n = theirs + ours;
  for (int64_t i = 0; i < d_; ++i) {
    const Four there = four([&](int64_t lane) { return mean(others[lane])[i]; }), here = mean(asker_)[i];
    gap[i] = there - here;
    middle[i] = (theirs * there + ours * here) / n;
  }
  const double* asked = shape_[asker_]->scatter.data();
  const double* scatter[LANES];
  for (int64_t lane = 0; lane < LANES; ++lane) scatter[lane] = shape_[others[lane]]->scatter.data();
  for (int64_t i = 0; i < size; ++i) B[i] = four([&](int64_t lane) { return scatter[lane][i]; }) + asked[i];
  triangle::add_outer(B, gap, theirs * ours / n, d_);
  triangle::add_outer(B, middle, n * xi0_ / (n + xi0_), d_);
  triangle::add_identity(B, d_);
  return triangle::factorise(B, d_);
}

void GaussianPairs::deltas(Four (GaussianPairs::*log_det)(const int64_t*) const, const int64_t* others, int64_t n,
                           double* delta) const {
  for (int64_t from = 0; from < n; from += LANES) {
    int64_t four_of_them[LANES];
    for (int64_t lane = 0; lane < LANES; ++lane) four_of_them[lane] = others[std::min(from + lane, n - 1)];
    const Four found = (this->*log_det)(four_of_them);
    for (int64_t i = from; i < std::min(from + LANES, n); ++i)
      delta[i] = energy(n_[asker_] + n_[others[i]], found[i - from]) - (energy_[asker_] + energy_[others[i]]);
  }
}

void GaussianPairs::floors(const int64_t* others, int64_t n, double* floor) const {
  // Runs of rows and of shapes: each has its own formula.
  for (int64_t from = 0, to; from < n; from = to) {
    const bool is_row = !shape_[others[from]];
    for (to = from + 1; to < n && !shape_[others[to]] == is_row;) ++to;
    const auto log_det = !shape_[asker_] && is_row ? &GaussianPairs::log_det_of_rows : &GaussianPairs::log_det_at_mean;
    deltas(log_det, others + from, to - from, floor + from);
  }
  if (!shape_[asker_]) return;
  for (int64_t i = 0; i < n; ++i)
    if (shape_[others[i]]) floor[i] -= SLACK * (1 + std::abs(floor[i]) + 2 * std::abs(energy_[asker_] + energy_[others[i]]));
}

void GaussianPairs::costs(const int64_t* others, int64_t n, double* cost) const {
  deltas(&GaussianPairs::log_det_of_shapes, others, n, cost);
}

GaussianPairs::Shape GaussianPairs::shape_of(int64_t a, int64_t b) const {
  const int64_t size = triangle::size(d_);
  Shape merged{std::vector<double>(size), std::vector<double>(size), std::vector<double>(d_)};
  for (int64_t c : {a, b})
    for (int64_t i = 0; shape_[c] && i < size; ++i) merged.scatter[i] += shape_[c]->scatter[i];
  std::vector<double> gap(d_), factors;
  for (int64_t i = 0; i < d_; ++i) gap[i] = mean(a)[i] - mean(b)[i];
  triangle::add_outer(merged.scatter.data(), gap.data(), n_[a] * n_[b] / (n_[a] + n_[b]), d_);
  factors = merged.scatter;
  triangle::add_identity(factors.data(), d_);
  merged.log_det = triangle::factorise(factors.data(), d_);
  triangle::whitener(factors.data(), merged.whitener.data(), d_);
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
