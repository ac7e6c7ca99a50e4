#include "samplers/collapsed.hpp"

#include <utility>

namespace kfree {
namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();
// A cluster is left out when its weight is below what draw() takes for zero by this much, more than rounding.
constexpr double MARGIN = 1.0;
// det B without a row, as a share of det B with it, is a difference; below this its digits are too few.
constexpr double LEAST_SHARE = 1e-4;

}  // namespace

CollapsedChain::CollapsedChain(const double* x, int64_t n, int64_t d, const int32_t* label, uint64_t seed,
                               NormalWishart prior)
    : n_(n),
      d_(d),
      padded_((d + 7) / 8 * 8),
      most_few_(d / 4),
      slots_(label, n),
      random_(seed),
      prior_(std::move(prior)),
      no_rows_(d),
      empty_{most_few_ > 0, FewRows(padded_), most_few_ > 0 ? Factor() : no_rows_},
      whole_(empty_),
      bank_(d),
      z_(n * padded_, 0.0),
      scratch_(padded_) {
  Factor whitening = no_rows_;
  std::vector<double> B = prior_.B0;
  whitening.factorise(B);
  for (int64_t i = 0; i < n; ++i) {
    std::copy_n(x + i * d, d, z_.begin() + i * padded_);
    whitening.solve(z_.data() + i * padded_);
  }
  for (int64_t count = 0; count <= n; ++count) log_count_.push_back(std::log(static_cast<double>(count)));
  const Density alone = density(0.0, 0);
  for (int64_t i = 0; i < n; ++i) new_.push_back(alone.at(dot(row(i), row(i), padded_)));
}

void CollapsedChain::sweep(double log_alpha) {
  open_clusters();
  for (int64_t i = 0; i < n_; ++i) {
    const int64_t left = slots_.label[i], k = slots_.size();
    bool has_left = false;
    weight_.assign(k + 1, NEVER);
    weight_[left] = weigh_own(i, left, has_left);
    weigh(i, left, log_alpha);
    int64_t chosen = draw(weight_, k + 1, random_);
    if (chosen == left) {  // nothing has changed
      if (has_left) std::swap(clusters_[left], whole_);
      slots_.put(i, left);
      continue;
    }
    if (slots_.count[left] > 0 && !clusters_[left].is_few) {
      if (!has_left) leave(i, left);
      bank_.put(left, clusters_[left].factor.mean, clusters_[left].factor.columns);
    }
    if (chosen == k) {
      chosen = slots_.vacant();
      if (chosen == k) clusters_.push_back(empty_);
      clusters_[chosen] = empty_;
    }
    join(i, chosen);
  }
  close_gaps();
}

// What is kept by factors is made anew, so that rounding does not add up over sweeps.
void CollapsedChain::open_clusters() {
  bank_.clear();
  clusters_.resize(slots_.size(), Cluster{false, empty_.few, Factor()});
  for (int64_t c = 0; c < slots_.size(); ++c) {
    Cluster& cluster = clusters_[c];
    if (!cluster.is_few && slots_.count[c] <= most_few_) keep_few(c);
    if (cluster.is_few) continue;
    rebuild(c, -1);
    bank_.put(c, cluster.factor.mean, cluster.factor.columns);
  }
}

void CollapsedChain::keep_few(int64_t slot) {
  Cluster& cluster = clusters_[slot];
  cluster.few = empty_.few;
  for (int64_t i = 0; i < n_; ++i)
    if (slots_.label[i] == slot) cluster.few.add(i, row(i), prior_.xi0, scratch_.data());
  cluster.is_few = cluster.few.exact();
  if (cluster.is_few) cluster.factor = Factor();
}

// The log weight of the cluster that a row is in, without the row; has_left tells whether the row was taken out.
double CollapsedChain::weigh_own(int64_t i, int64_t slot, bool& has_left) {
  const int64_t count = --slots_.count[slot];
  if (count == 0) return NEVER;
  Cluster& cluster = clusters_[slot];
  if (!cluster.is_few) {
    const double xi = prior_.xi0 + static_cast<double>(count + 1), ratio = xi / (xi - 1.0);
    const double sq_dist = cluster.factor.sq_dist(row(i), scratch_.data()), share = 1.0 - ratio * sq_dist;
    if (share > LEAST_SHARE)
      return density(cluster.factor.half_log_det + 0.5 * std::log(share), count).at(ratio * ratio * sq_dist / share);
  }
  has_left = true;
  whole_ = cluster;
  leave(i, slot);
  const double sq_dist = cluster.is_few ? cluster.few.sq_dist(row(i), padded_, scratch_.data())
                                        : cluster.factor.sq_dist(row(i), scratch_.data());
  return density(cluster.half_log_det(), count).at(sq_dist);
}

// Log weights of all other slots, and of a new cluster after them.
void CollapsedChain::weigh(int64_t i, int64_t left, double log_alpha) {
  const int64_t k = slots_.size();
  weight_[k] = log_alpha + new_[i];
  double highest = std::max(weight_[k], weight_[left]);
  for (int64_t c = 0; c < k; ++c) {
    if (!clusters_[c].is_few || slots_.count[c] == 0 || c == left) continue;
    const FewRows& few = clusters_[c].few;
    weight_[c] = density(few.half_log_det, slots_.count[c]).at(few.sq_dist(row(i), padded_, scratch_.data()));
    highest = std::max(highest, weight_[c]);
  }
  weigh_factors(i, left, highest);
}

void CollapsedChain::weigh_factors(int64_t i, int64_t left, double highest) {
  bank_.take_row(row(i));
  for (int64_t group = 0; group < bank_.n_groups(); ++group) {
    const int64_t first = group * Bank::LANES, n_lanes = std::min(Bank::LANES, bank_.n_lanes() - first);
    Density found[Bank::LANES];
    double most[Bank::LANES], sq_dist[Bank::LANES];
    std::fill_n(most, Bank::LANES, -1.0);
    for (int64_t l = 0; l < n_lanes; ++l) {
      const int64_t c = bank_.slot(first + l), count = slots_.count[c];
      if (count == 0 || clusters_[c].is_few || c == left) continue;
      found[l] = density(clusters_[c].factor.half_log_det, count);
      most[l] = found[l].most_sq_dist(highest + LEAST_LOG_SHARE - MARGIN);
    }
    bank_.sq_dists(group, most, sq_dist);
    for (int64_t l = 0; l < n_lanes; ++l) {
      if (!(sq_dist[l] <= most[l])) continue;
      const double weight = weight_[bank_.slot(first + l)] = found[l].at(sq_dist[l]);
      highest = std::max(highest, weight);
    }
  }
}

void CollapsedChain::leave(int64_t i, int64_t slot) {
  Cluster& cluster = clusters_[slot];
  if (cluster.is_few) return cluster.few.remove(i, z_.data(), prior_.xi0, scratch_.data());
  const double xi = prior_.xi0 + static_cast<double>(slots_.count[slot] + 1);
  if (!cluster.factor.subtract(row(i), xi, scratch_.data())) rebuild(slot, i);
}

void CollapsedChain::join(int64_t i, int64_t slot) {
  Cluster& cluster = clusters_[slot];
  double xi = prior_.xi0;
  if (cluster.is_few) {
    cluster.few.add(i, row(i), prior_.xi0, scratch_.data());
    slots_.put(i, slot);
    cluster.is_few = slots_.count[slot] <= most_few_ && cluster.few.exact();
    if (cluster.is_few) return;
    cluster.factor = no_rows_;
    for (const int64_t j : cluster.few.rows) cluster.factor.add(row(j), xi++, scratch_.data());
  } else {
    if (slot < slots_.size()) xi += static_cast<double>(slots_.count[slot]);
    cluster.factor.add(row(i), xi, scratch_.data());
    slots_.put(i, slot);
  }
  bank_.put(slot, cluster.factor.mean, cluster.factor.columns);
}

// The factor of a slot from its rows, one of which may be left out.
void CollapsedChain::rebuild(int64_t slot, int64_t without_row) {
  std::vector<double> mean(d_, 0.0), B(d_ * d_, 0.0), gap(d_);
  for (int64_t j = 0; j < d_; ++j) B[j * d_ + j] = 1.0;
  const double count = static_cast<double>(slots_.count[slot]), xi = prior_.xi0 + count;
  const auto each_row = [&](auto visit) {
    for (int64_t i = 0; i < n_; ++i)
      if (slots_.label[i] == slot && i != without_row) visit(row(i));
  };
  const auto add_square = [&](double factor) {
    for (int64_t j = 0; j < d_; ++j)
      for (int64_t t = j; t < d_; ++t) B[j * d_ + t] += factor * (gap[j] * gap[t]);
  };
  each_row([&](const double* z) {
    for (int64_t t = 0; t < d_; ++t) mean[t] += z[t];
  });
  for (int64_t t = 0; t < d_; ++t) mean[t] /= count;
  each_row([&](const double* z) {
    for (int64_t t = 0; t < d_; ++t) gap[t] = z[t] - mean[t];
    add_square(1.0);
  });
  gap = mean;
  add_square(prior_.xi0 * count / xi);
  Factor& factor = clusters_[slot].factor = no_rows_;
  for (int64_t t = 0; t < d_; ++t) factor.mean[t] = mean[t] * (count / xi);
  factor.factorise(B);
}

void CollapsedChain::close_gaps() {
  const std::vector<int64_t> place = slots_.close_gaps();
  for (size_t c = 0; c < place.size(); ++c)
    if (place[c] >= 0 && place[c] != static_cast<int64_t>(c)) std::swap(clusters_[place[c]], clusters_[c]);
  clusters_.resize(slots_.size(), empty_);
}

// Student's t with η − d + 1 degrees of freedom, times the number of rows; but for a factor that all densities share.
CollapsedChain::Density CollapsedChain::density(double half_log_det, int64_t count) const {
  const double xi = prior_.xi0 + static_cast<double>(count), eta = prior_.eta0 + static_cast<double>(count);
  const double log_prior = count > 0 ? log_count_[count] : 0.0;
  return {log_prior + (prior_.at_centre[count] - half_log_det), 0.5 * (eta + 1.0), xi / (xi + 1.0)};
}

double CollapsedChain::Density::most_sq_dist(double least) const {
  return std::expm1((at_centre - least) / half_power) / scale;
}

// log(1 + …), since an absolute error of a rounding is little here and log1p takes three times as long.
double CollapsedChain::Density::at(double sq_dist) const {
  return at_centre - half_power * std::log(1.0 + sq_dist * scale);
}

}  // namespace kfree
