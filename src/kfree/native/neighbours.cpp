#include "neighbours.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "parallel.hpp"

namespace kfree {
namespace {

// When sites have moved by more than this share of a list's reach on average, new lists are made.
constexpr double STALE = 0.1;
// All that is computed here is off by far less than this share.
constexpr double CAREFUL = 1e-6;

// Balls hold more sites the more dimensions there are. 0: a list would cost more than it saves.
int64_t list_size(int64_t k, int64_t d, int64_t n_rows) {
  const int64_t wanted = d <= 3 ? 32 : 64;
  const bool worth_making = k * k <= 4 * n_rows && k >= wanted * 3 / 2;
  return worth_making ? wanted : 0;
}

}  // namespace

void Neighbours::turn_to(const Sites& sites, bool same_numbers, int64_t n_rows, int n_threads) {
  const int64_t wanted = list_size(sites.k, sites.d, n_rows);
  const bool usable = same_numbers && size_ == wanted;
  size_ = wanted;
  if (size_ == 0) return;
  if (!usable || outdated(sites)) make_lists(sites, n_threads);
  table_.fill(sites);
}

int64_t Neighbours::within(int64_t j, double reach) const {
  const float* gap = gap_.data() + j * (size_ + 1);
  const double limit = (reach + slack_[j]) * (1.0 + CAREFUL);
  if (!(static_cast<double>(gap[size_]) > limit)) return 0;
  const int64_t n = std::upper_bound(gap, gap + size_, limit) - gap;
  return (n + LISTED_AT_ONCE - 1) / LISTED_AT_ONCE * LISTED_AT_ONCE;
}

// Measures what has moved since the lists were made.
bool Neighbours::outdated(const Sites& sites) {
  std::vector<double> moved(sites.k);
  double farthest = 0.0, share = 0.0;
  for (int64_t j = 0; j < sites.k; ++j) {
    moved[j] = dist_between(sites[j], made_for_.data() + j * sites.d, sites.d) * (1.0 + CAREFUL);
    farthest = std::max(farthest, moved[j]);
  }
  for (int64_t j = 0; j < sites.k; ++j) {
    slack_[j] = moved[j] + farthest;
    share += slack_[j] / static_cast<double>(gap_[j * (size_ + 1) + size_]);
  }
  return !(share <= STALE * static_cast<double>(sites.k));
}

void Neighbours::make_lists(const Sites& sites, int n_threads) {
  id_.resize(sites.k * size_);
  gap_.resize(sites.k * (size_ + 1));
  slack_.assign(sites.k, 0.0);
  made_for_ = sites.centre;
  constexpr int64_t AT_ONCE = 16;
  Blocks((sites.k + AT_ONCE - 1) / AT_ONCE).run(sites.k >= 128 ? n_threads : 1, [&](Worker& worker) {
    std::vector<std::pair<float, int32_t>> order(sites.k);
    for (int64_t b; (b = worker.next()) >= 0;)
      for (int64_t j = b * AT_ONCE; j < std::min(sites.k, (b + 1) * AT_ONCE); ++j) list_around(sites, j, order);
  });
}

void Neighbours::list_around(const Sites& sites, int64_t j, std::vector<std::pair<float, int32_t>>& order) {
  for (int64_t i = 0; i < sites.k; ++i) {
    const double gap = dist_between(sites[j], sites[i], sites.d) * (1.0 - CAREFUL);
    order[i] = {static_cast<float>(std::min(gap, 1e38)), static_cast<int32_t>(i)};
  }
  order[j].first = -1.0f;  // first, even where others lie in the same place
  std::nth_element(order.begin(), order.begin() + size_, order.end());
  std::sort(order.begin(), order.begin() + size_);
  order[0].first = 0.0f;
  for (int64_t i = 0; i < size_; ++i) id_[j * size_ + i] = order[i].second;
  for (int64_t i = 0; i <= size_; ++i) gap_[j * (size_ + 1) + i] = order[i].first;
}

}  // namespace kfree
