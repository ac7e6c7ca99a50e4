#include "bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace kfree {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

double dist(const double* a, const double* b, int64_t d) {
  double sum = 0.0;
  for (int64_t t = 0; t < d; ++t) sum += (a[t] - b[t]) * (a[t] - b[t]);
  return std::sqrt(sum);
}

}  // namespace

void Bounds::turn_to(const Sites& sites, const int64_t* uids) {
  const int64_t d = sites.d;
  up_ = 1.0 + 0x1p-52 * static_cast<double>(d + 16);
  down_ = 1.0 - 0x1p-52 * static_cast<double>(d + 16);
  gap_.clear();
  if (!complete_) std::fill(label_.begin(), label_.end(), -1);
  complete_ = false;

  std::unordered_map<int64_t, int32_t> old_number;
  for (size_t j = 0; j < uids_.size(); ++j) old_number[uids_[j]] = static_cast<int32_t>(j);
  renumbered_.assign(uids_.size(), -1);
  std::vector<double> drift(sites.k, 0.0);
  std::vector<int64_t> newborn;
  for (int64_t j = 0; j < sites.k; ++j) {
    const auto old = old_number.find(uids[j]);
    if (old == old_number.end()) {
      newborn.push_back(j);
      continue;
    }
    renumbered_[old->second] = static_cast<int32_t>(j);
    drift[j] = up_ * dist(sites[j], centre_.data() + old->second * d, d);
  }

  // The farthest that any other site has come: the largest drift, or the second largest for the one that has it.
  const auto fastest = std::max_element(drift.begin(), drift.end());
  const double largest = fastest == drift.end() ? 0.0 : *fastest;
  double runner_up = 0.0;
  for (auto it = drift.begin(); it != drift.end(); ++it)
    if (it != fastest) runner_up = std::max(runner_up, *it);
  drift_of_others_.assign(sites.k, largest);
  if (fastest != drift.end()) drift_of_others_[fastest - drift.begin()] = runner_up;

  newborn_gap_.assign(newborn.empty() ? 0 : sites.k, INFINITE);
  for (const int64_t young : newborn)
    for (int64_t j = 0; j < sites.k; ++j)
      if (j != young) newborn_gap_[j] = std::min(newborn_gap_[j], down_ * dist(sites[j], sites[young], d));

  centre_ = sites.centre;
  uids_.assign(uids, uids + sites.k);
}

double Bounds::lower(int64_t row, int32_t label, double dist) const {
  double bound = down_ * static_cast<double>(lower_[row]) - drift_of_others_[label];
  if (!newborn_gap_.empty()) bound = std::min(bound, newborn_gap_[label] - up_ * dist);
  if (!gap_.empty()) bound = std::max(bound, gap_[label] - up_ * dist);
  return bound;
}

void Bounds::keep(int64_t row, int32_t label, double lower) {
  label_[row] = label;
  // Stored in half the space, rounded down.
  const float stored = static_cast<float>(lower);
  lower_[row] = static_cast<double>(stored) <= lower ? stored : std::nextafter(stored, -INFINITY);
}

}  // namespace kfree
