#include "bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace kfree {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// How many sites are set apart: one panel, or two where that is still a small part of all, so that a row is held against
// them in a fraction of the time that ranking takes.
size_t n_fastest(int64_t k) { return k >= 16 * PANEL ? 2 * PANEL : k >= 4 * PANEL ? PANEL : 0; }

}  // namespace

void Bounds::turn_to(const Sites& sites, const int64_t* uids) {
  const double rounding = 0x1p-51 * static_cast<double>(sites.d + 16);
  up_ = 1.0 + rounding;
  down_ = 1.0 - rounding;
  if (!complete_) std::fill(label_.begin(), label_.end(), -1);
  complete_ = false;
  set_fastest_apart(sites, measure_drift(sites, uids));
  centre_ = sites.centre;
  uids_.assign(uids, uids + sites.k);
}

void Bounds::labels(int64_t begin, int64_t end, int32_t* label) const {
  std::copy(label_.data() + begin, label_.data() + end, label);
  if (same_numbers_) return;
  for (int64_t i = 0; i < end - begin; ++i)
    if (label[i] >= 0) label[i] = renumbered_[label[i]];
}

void Bounds::settle(int64_t begin, int64_t end, const int32_t* label, const double* sq_dist,
                    std::vector<int64_t>& open) {
  // A bound that the fastest sites have made much weaker would not last until the next pass: where slow ones leave more
  // than twice as much, the row is left open.
  const double down = down_, lasting = lasting_drift_, drift = largest_drift_;
  for (int64_t i = 0; i < end - begin; ++i) {
    const double known = down * static_cast<double>(lower_[begin + i]);
    if (exceeds(known - lasting, sq_dist[i])) {
      label_[begin + i] = label[i];
      lower_[begin + i] = stored(known - drift);
    } else {
      open.push_back(begin + i);
    }
  }
}

// How far each present site has come, at most; no bound holds for a newborn one.
std::vector<double> Bounds::measure_drift(const Sites& sites, const int64_t* uids) {
  std::unordered_map<int64_t, int32_t> old_number;
  for (size_t j = 0; j < uids_.size(); ++j) old_number[uids_[j]] = static_cast<int32_t>(j);
  renumbered_.assign(uids_.size(), -1);
  std::vector<double> drift(sites.k, INFINITE);
  for (int64_t j = 0; j < sites.k; ++j) {
    const auto old = old_number.find(uids[j]);
    if (old == old_number.end()) continue;
    renumbered_[old->second] = static_cast<int32_t>(j);
    const double *now = sites[j], *before = centre_.data() + old->second * sites.d;
    double sum = 0.0;
    for (int64_t t = 0; t < sites.d; ++t) sum += (now[t] - before[t]) * (now[t] - before[t]);
    drift[j] = up_ * std::sqrt(sum);
  }
  same_numbers_ = renumbered_.size() == static_cast<size_t>(sites.k);
  for (size_t j = 0; same_numbers_ && j < renumbered_.size(); ++j)
    same_numbers_ = renumbered_[j] == static_cast<int32_t>(j);
  return drift;
}

void Bounds::set_fastest_apart(const Sites& sites, const std::vector<double>& drift) {
  std::vector<int32_t> order(sites.k);
  std::iota(order.begin(), order.end(), 0);
  const size_t n = n_fastest(sites.k);
  std::partial_sort(order.begin(), order.begin() + std::min(n + 2, order.size()), order.end(),
                    [&](int32_t a, int32_t b) { return drift[a] > drift[b] || (drift[a] == drift[b] && a < b); });
  fastest_ = order[0];
  largest_drift_ = drift[order[0]];
  second_drift_ = order.size() > 1 ? drift[order[1]] : 0.0;
  slow_drift_ = drift[order[n]];
  // bound − lasting ≥ dist  ⇔  bound − largest − dist ≥ ½ (bound − slow − dist)
  lasting_drift_ = slow_drift_ == INFINITE ? INFINITE : 2.0 * largest_drift_ - slow_drift_;
  fastest_sites_.take(sites, order.data(), static_cast<int64_t>(n));
}

}  // namespace kfree
