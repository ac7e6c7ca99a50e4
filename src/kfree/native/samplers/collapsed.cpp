#include "samplers/collapsed.hpp"

#include <utility>

namespace kfree {
namespace {

// A pivot below this share of its diagonal is rounding.
constexpr double SINGULAR = 1e-14;
// A cluster is left out when its weight is below what draw() takes for zero by this much, more than rounding.
constexpr double MARGIN = 1.0;

double half_log_det(const std::vector<double>& factor, int64_t d) {
  double sum = 0.0;
  for (int64_t j = 0; j < d; ++j) sum += std::log(factor[j * d + j]);
  return sum;
}

}  // namespace

CollapsedChain::CollapsedChain(const double* x, int64_t n, int64_t d, const int32_t* label, uint64_t seed,
                               NormalWishart prior)
    : x_(x), n_(n), d_(d), slots_(label, n), random_(seed), prior_(std::move(prior)), bank_(d) {
  empty_.mean.assign(d, 0.0);
  std::vector<double> B = prior_.B0;
  factorise(empty_, B);
  for (int64_t count = 0; count <= n; ++count) log_count_.push_back(std::log(static_cast<double>(count)));
  const Density alone = density(empty_, 0, 0.0);
  for (int64_t i = 0; i < n; ++i) new_.push_back(alone.at(sq_dist(x + i * d, empty_)));
}

void CollapsedChain::sweep(double log_alpha) {
  clusters_.assign(slots_.size(), empty_);
  bank_.clear();
  for (int64_t c = 0; c < slots_.size(); ++c) {
    rebuild(c, -1);  // rounding does not add up over sweeps
    bank_.put(c, clusters_[c].mean, clusters_[c].factor);
  }
  for (int64_t i = 0; i < n_; ++i) {
    const int64_t left = slots_.label[i], k = slots_.size();
    leave(i, left);
    weigh(i, left, log_alpha);
    int64_t chosen = draw(weight_, k + 1, random_);
    if (chosen == left) {  // nothing has changed
      std::swap(clusters_[left], whole_);
      slots_.put(i, left);
      continue;
    }
    if (slots_.count[left] > 0) bank_.put(left, clusters_[left].mean, clusters_[left].factor);
    if (chosen == k) {
      chosen = slots_.vacant();
      if (chosen == k) clusters_.push_back(empty_);
      clusters_[chosen] = empty_;
    }
    join(i, chosen);
    bank_.put(chosen, clusters_[chosen].mean, clusters_[chosen].factor);
  }
  slots_.close_gaps();
}

// Log weights of all slots, and of a new cluster after them, for a row that has left its cluster.
void CollapsedChain::weigh(int64_t row, int64_t left, double log_alpha) {
  constexpr double never = -std::numeric_limits<double>::infinity();
  const int64_t k = slots_.size();
  weight_.assign(k + 1, never);
  weight_[k] = log_alpha + new_[row];
  if (const int64_t count = slots_.count[left]; count > 0)
    weight_[left] = density(clusters_[left], count, log_count_[count]).at(sq_dist(x_ + row * d_, clusters_[left]));
  double highest = std::max(weight_[k], weight_[left]);
  bank_.take_row(x_ + row * d_);
  for (int64_t first = 0; first < k; first += Bank::LANES) {
    const int64_t n_lanes = std::min(Bank::LANES, k - first);
    Density found[Bank::LANES];
    double most[Bank::LANES], sq_dist[Bank::LANES];
    std::fill_n(most, Bank::LANES, -1.0);
    for (int64_t l = 0; l < n_lanes; ++l) {
      const int64_t c = first + l, count = slots_.count[c];
      if (count == 0 || c == left) continue;
      found[l] = density(clusters_[c], count, log_count_[count]);
      most[l] = found[l].most_sq_dist(highest + LEAST_LOG_SHARE - MARGIN);
    }
    bank_.sq_dists(first / Bank::LANES, most, sq_dist);
    for (int64_t l = 0; l < n_lanes; ++l) {
      if (!(sq_dist[l] <= most[l])) continue;
      weight_[first + l] = found[l].at(sq_dist[l]);
      highest = std::max(highest, weight_[first + l]);
    }
  }
}

void CollapsedChain::leave(int64_t row, int64_t slot) {
  const int64_t left = --slots_.count[slot];
  if (left == 0) return;
  Cluster& cluster = clusters_[slot];
  whole_ = cluster;
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
CollapsedChain::Density CollapsedChain::density(const Cluster& cluster, int64_t count, double log_prior) const {
  const double xi = prior_.xi0 + static_cast<double>(count), eta = prior_.eta0 + static_cast<double>(count);
  return {log_prior + (prior_.at_centre[count] - cluster.half_log_det), 0.5 * (eta + 1.0), xi / (xi + 1.0)};
}

double CollapsedChain::Density::most_sq_dist(double least) const {
  return std::expm1((at_centre - least) / half_power) / scale;
}

double CollapsedChain::Density::at(double sq_dist) const {
  return at_centre - half_power * std::log1p(sq_dist * scale);
}

double CollapsedChain::sq_dist(const double* row, const Cluster& cluster) {
  for (int64_t t = 0; t < d_; ++t) gap_[t] = row[t] - cluster.mean[t];
  double sum = 0.0;
  for (int64_t j = 0; j < d_; ++j) {
    const double* column = cluster.factor.data() + j * d_;
    const double solved = gap_[j] / column[j];
    for (int64_t t = j + 1; t < d_; ++t) gap_[t] -= solved * column[t];
    sum += solved * solved;
  }
  return sum;
}

}  // namespace kfree
