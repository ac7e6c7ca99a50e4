#include "trees/gaussian_pairs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "trees/triangle.hpp"

namespace kfree {
namespace {

// Floors are lowered by this share of what they are the difference of, far more than rounding can have raised them.
constexpr double SLACK = 1e-9;

// log det(I + Σ u·uᵀ) of n vectors u (n,d), which are spoilt. Each in turn adds its log(1 + |u|²), and the others go on
// in coordinates where I + u·uᵀ is the identity: products of lengths, of which little is left in the end, never occur.
Four log_det_of_sum(Four* u, int64_t n, int64_t d) {
  Four log_det = 0.0;
  for (int64_t k = 0; k < n; ++k, u += d) {
    Four sq_length = 0.0;
    for (int64_t i = 0; i < d; ++i) sq_length += u[i] * u[i];
    const Four det = 1.0 + sq_length, shrink = 1.0 / (det + sqrt(det));
    log_det += log(det);
    for (Four* other = u + d; other < u + (n - k) * d; other += d) {
      Four along = 0.0;
      for (int64_t i = 0; i < d; ++i) along += u[i] * other[i];
      along = along * shrink;
      for (int64_t i = 0; i < d; ++i) other[i] -= along * u[i];
    }
  }
  return log_det;
}

// How many vectors may be added to a factorised matrix before factorising anew takes fewer operations.
int64_t affordable_contrasts(int64_t d) {
  int64_t n = 0;
  while ((n + 2) * d * d / 2 + (n + 3) * (n + 3) * d < d * d * d / 6 + 3 * d * d / 2) ++n;
  return n;
}

}  // namespace

GaussianPairs::GaussianPairs(const double* rows, int64_t n, int64_t d, double xi0, double eta0,
                             const double* size_terms)
    : d_(d), xi0_(xi0), eta0_(eta0), size_terms_(size_terms, size_terms + n + 1), n_(n, 1.0), mean_(rows, rows + n * d),
      shape_(n) {
  most_contrasts_ = affordable_contrasts(d);
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
  Four *middle = scratch(2 * d_), *gap = middle + d_;
  for (int64_t i = 0; i < d_; ++i) {
    const Four theirs = four([&](int64_t lane) { return mean(others[lane])[i]; });
    middle[i] = (theirs + mean(asker_)[i]) * (0.5 * std::sqrt(pull(2)));
    gap[i] = (theirs - mean(asker_)[i]) * std::sqrt(0.5);
  }
  return log_det_of_sum(middle, 2, d_);
}

Four GaussianPairs::log_det_at_mean(const int64_t* others) const {
  return log_det_of_columns(others, shape_[asker_] != nullptr, 0);
}

Four GaussianPairs::log_det_by_contrasts(const int64_t* others) const {
  return log_det_of_columns(others, is_base(asker_, others[0]), n_contrasts(asker_, others[0]));
}

int64_t GaussianPairs::n_contrasts(int64_t a, int64_t b) const {
  const auto n = static_cast<int64_t>(std::min(n_[a], n_[b])) - 1;
  return n <= most_contrasts_ ? n : -1;
}

Four GaussianPairs::log_det_of_columns(const int64_t* others, bool asker_is_base, int64_t n_contrasts) const {
  const int64_t size = triangle::size(d_);
  Four *middle = scratch((3 + n_contrasts) * d_ + size), *step = middle + d_, *vector = step + (1 + n_contrasts) * d_;
  Four* gathered = vector + d_;
  const Shape *base[LANES], *asked = shape_[asker_].get();
  for (int64_t lane = 0; lane < LANES; ++lane) base[lane] = asker_is_base ? asked : shape_[others[lane]].get();
  if (!asker_is_base)
    for (int64_t i = 0; i < size; ++i) gathered[i] = four([&](int64_t lane) { return base[lane]->whitener[i]; });
  const Four* whitener = asker_is_base ? asked_whitener_.data() : gathered;
  // From the base's mean to the other one's, and to the mean of both.
  const Four theirs = four([&](int64_t lane) { return n_[others[lane]]; }), ours = n_[asker_], n = theirs + ours;
  const Four share = (asker_is_base ? theirs : ours) / n;
  const Four spread = sqrt(theirs * ours / n), pulled = sqrt(n * xi0_ / (n + xi0_));
  for (int64_t i = 0; i < d_; ++i) {
    const Four there = four([&](int64_t lane) { return mean(others[lane])[i]; }), here = mean(asker_)[i];
    vector[i] = asker_is_base ? there - here : here - there;
  }
  triangle::multiply(whitener, vector, step, d_);
  for (int64_t i = 0; i < d_; ++i) {
    middle[i] = (four([&](int64_t lane) { return base[lane]->white_mean[i]; }) + share * step[i]) * pulled;
    step[i] = step[i] * spread;
  }
  for (int64_t at = 0; at < n_contrasts * d_; at += d_) {
    for (int64_t i = 0; i < d_; ++i)
      vector[i] = asker_is_base ? four([&](int64_t lane) { return shape_[others[lane]]->contrasts[at + i]; })
                                : Four(asked->contrasts[at + i]);
    triangle::multiply(whitener, vector, step + d_ + at, d_);
  }
  return four([&](int64_t lane) { return base[lane]->log_det; }) + log_det_of_sum(middle, 2 + n_contrasts, d_);
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
  for (int64_t i = 0; i < n; ++i) {
    if (floor_is_cost(others[i])) continue;
    const double apart = energy_[asker_] + energy_[others[i]];
    floor[i] -= SLACK * (1 + std::abs(floor[i]) + 2 * std::abs(apart));
  }
}

void GaussianPairs::costs(const int64_t* others, int64_t n, double* cost) const {
  // Pairs that take the same way side by side; the bits of a pair do not depend on the others.
  const auto way = [&](int64_t i) { return std::pair(n_contrasts(asker_, others[i]), is_base(asker_, others[i])); };
  std::vector<int64_t> order(n), sorted;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return way(i) < way(j); });
  for (int64_t i : order) sorted.push_back(others[i]);
  std::vector<double> found(n);
  for (int64_t from = 0, to; from < n; from = to) {
    for (to = from + 1; to < n && way(order[to]) == way(order[from]);) ++to;
    const auto log_det =
        way(order[from]).first < 0 ? &GaussianPairs::log_det_of_shapes : &GaussianPairs::log_det_by_contrasts;
    deltas(log_det, sorted.data() + from, to - from, found.data() + from);
  }
  for (int64_t i = 0; i < n; ++i) cost[order[i]] = found[i];
}

GaussianPairs::Shape GaussianPairs::shape_of(int64_t a, int64_t b) const {
  const int64_t size = triangle::size(d_);
  const double n = n_[a] + n_[b], spread = std::sqrt(n_[a] * n_[b] / n);
  Shape merged{std::vector<double>(size), std::vector<double>(size), std::vector<double>(d_), {}};
  std::vector<double> gap(d_), factors;
  for (int64_t i = 0; i < d_; ++i) gap[i] = (mean(a)[i] - mean(b)[i]) * spread;
  triangle::add_outer(merged.scatter.data(), gap.data(), 1.0, d_);
  const bool is_small = n - 1 <= static_cast<double>(most_contrasts_);
  if (is_small) merged.contrasts = gap;
  for (int64_t c : {a, b}) {
    if (!shape_[c]) continue;
    const auto& contrasts = shape_[c]->contrasts;
    if (is_small) merged.contrasts.insert(merged.contrasts.end(), contrasts.begin(), contrasts.end());
    for (int64_t i = 0; i < size; ++i) merged.scatter[i] += shape_[c]->scatter[i];
  }
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
