// Which shared sites does a group use? A small facility-location problem, solved by local search in each group.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "rows/rows.hpp"

namespace kfree::groups {

inline constexpr double FAR = std::numeric_limits<double>::infinity();
// A change must gain this share of a group's cost to be more than rounding.
inline constexpr double LEAST_GAIN = 1e-12;
// Squared distances of one group that are kept between rounds; those of a larger group are computed again.
inline constexpr int64_t MOST_KEPT = 1 << 21;

// Squared distances between the rows of one group and all sites.
class Gaps {
 public:
  Gaps(const Rows& rows, const Sites& sites) : rows_(rows), sites_(sites) {}

  void select_group(const int64_t* member, int64_t n) {
    member_ = member;
    const int64_t width = sites_.n_panels() * PANEL;
    kept_ = n * width <= MOST_KEPT;
    gap_.resize(kept_ ? n * width : width);
    for (int64_t i = 0; kept_ && i < n; ++i) measure(member[i], gap_.data() + i * width);
  }
  // (k,) of the i-th row, good until the next call
  const double* operator[](int64_t i) {
    if (kept_) return gap_.data() + i * sites_.n_panels() * PANEL;
    measure(member_[i], gap_.data());
    return gap_.data();
  }
  void measure(int64_t row, double* gap) {
    rows_.focus(row, scratch_);
    for (int64_t p = 0; p < sites_.n_panels(); ++p) rows_.sq_dist_panel(scratch_, sites_, p, gap + p * PANEL);
  }

 private:
  const Rows& rows_;
  const Sites& sites_;
  const int64_t* member_ = nullptr;
  bool kept_ = false;
  std::vector<double> gap_;
  Scratch scratch_;
};

// The nearest and the second of the sites that a group uses, as places in the list of these.
struct Nearest {
  int32_t place = 0, second_place = -1;
  double sq_dist, second = FAR;

  // Begins with the first site, so that there is a nearest one even where all distances overflow.
  Nearest(const std::vector<int32_t>& used, const double* gap) : sq_dist(gap[used[0]]) {
    for (size_t u = 1; u < used.size(); ++u) {
      const double here = gap[used[u]];
      if (here < sq_dist) {
        second_place = place;
        second = sq_dist;
        place = static_cast<int32_t>(u);
        sq_dist = here;
      } else if (here < second) {
        second_place = static_cast<int32_t>(u);
        second = here;
      }
    }
  }
};

// The choice of one group after the other, on one thread.
class Choice {
 public:
  Choice(const Rows& rows, const Sites& sites, double penalty)
      : rows_(rows), k_(sites.k), penalty_(penalty), gaps_(rows, sites), gain_(k_), is_used_(k_) {}

  // Starts from `used` (k,) and leaves the choice there; a group without weight uses nothing.
  void make(const int64_t* member, int64_t n, bool* used) {
    member_ = member;
    n_ = n;
    gaps_.select_group(member, n);
    used_.clear();
    for (int64_t q = 0; q < k_; ++q)
      if (used[q]) used_.push_back(static_cast<int32_t>(q));
    weighs_ = std::any_of(member, member + n, [&](int64_t row) { return rows_.weight(row) > 0.0; });
    if (!weighs_) used_.clear();
    if (weighs_ && used_.empty()) used_.push_back(best_alone());
    tabulate();
    while (weighs_ && settled_lower()) continue;
    std::copy(is_used_.begin(), is_used_.end(), used);
  }

  // out label, sq_dist of the group's rows
  void label(int32_t* label, double* sq_dist) {
    std::vector<int32_t> all;
    for (int64_t q = 0; q < k_ && !weighs_; ++q) all.push_back(static_cast<int32_t>(q));
    const std::vector<int32_t>& open = weighs_ ? used_ : all;
    for (int64_t i = 0; i < n_; ++i) {
      const Nearest nearest(open, gaps_[i]);
      label[member_[i]] = open[nearest.place];
      sq_dist[member_[i]] = nearest.sq_dist;
    }
  }

  // What deleting a used site would add to the group's cost: its rows go to their seconds, or another site is opened.
  // in-out cost (k,), successor (k, k)
  void add_to(double* cost, bool* successor) {
    for (size_t u = 0; u < used_.size(); ++u) {
      double least = used_.size() > 1 ? drop_[u] - penalty_ : FAR;
      int32_t instead = -1;
      for (int32_t q = 0; q < k_; ++q)
        if (!is_used_[q] && loss(u)[q] - gain_[q] < least) {
          least = loss(u)[q] - gain_[q];
          instead = q;
        }
      cost[used_[u]] += least;
      if (instead >= 0) successor[used_[u] * k_ + instead] = true;
    }
    for (int64_t i = 0; i < n_ && used_.size() > 1; ++i) {
      const Nearest nearest(used_, gaps_[i]);
      if (nearest.second_place >= 0) successor[used_[nearest.place] * k_ + used_[nearest.second_place]] = true;
    }
  }

 private:
  double* loss(size_t u) { return loss_.data() + u * k_; }

  int32_t best_alone() {
    std::vector<double> total(k_, 0.0);
    for (int64_t i = 0; i < n_; ++i) {
      const double *gap = gaps_[i], w = rows_.weight(member_[i]);
      for (int64_t q = 0; q < k_; ++q) total[q] += w * gap[q];
    }
    return static_cast<int32_t>(std::min_element(total.begin(), total.end()) - total.begin());
  }

  // What changes of the choice do to the cost of the rows:
  // gain_[q] is saved by using q too, on the rows for which q is nearer than their own site;
  // drop_[u] is lost by using u no longer, as its rows go to their second sites;
  // loss(u)[q] − gain_[q] is lost by using q instead of u: rows of u that are not nearer to q go to q or to their second
  // sites, whichever is nearer.
  void tabulate() {
    std::fill(gain_.begin(), gain_.end(), 0.0);
    std::fill(is_used_.begin(), is_used_.end(), false);
    for (const int32_t q : used_) is_used_[q] = true;
    drop_.assign(used_.size(), 0.0);
    loss_.assign(used_.size() * k_, 0.0);
    cost_ = 0.0;
    for (int64_t i = 0; i < n_ && weighs_; ++i) {
      const double *gap = gaps_[i], w = rows_.weight(member_[i]);
      if (!(w > 0.0)) continue;
      const Nearest own(used_, gap);
      double *gain = gain_.data(), *lost = loss(own.place);
      for (int64_t q = 0; q < k_; ++q) {
        gain[q] += w * std::max(own.sq_dist - gap[q], 0.0);
        lost[q] += w * std::max(std::min(own.second, gap[q]) - own.sq_dist, 0.0);
      }
      drop_[own.place] += w * (own.second - own.sq_dist);
      cost_ += w * own.sq_dist;
    }
  }

  double total() const { return cost_ + penalty_ * static_cast<double>(used_.size()); }

  // Makes the best change, unless the cost does not fall by it: then it is at the limit of rounding, where changes could
  // follow each other without end.
  bool settled_lower() {
    const double before = total();
    const std::vector<int32_t> used = used_;
    if (!improve()) return false;
    tabulate();
    if (total() < before) return true;
    used_ = used;
    tabulate();
    return false;
  }

  // Makes the best of all single changes, the first one on ties: one more, one less, one instead of another.
  bool improve() {
    double best = LEAST_GAIN * total();
    int32_t out = -1, in = -1;
    const auto consider = [&](double gain, int32_t u, int32_t q) {
      if (gain > best) {
        best = gain;
        out = u;
        in = q;
      }
    };
    const auto n_used = static_cast<int32_t>(used_.size());
    for (int32_t q = 0; q < k_; ++q)
      if (!is_used_[q]) consider(gain_[q] - penalty_, -1, q);
    for (int32_t u = 0; u < n_used && n_used > 1; ++u) consider(penalty_ - drop_[u], u, -1);
    for (int32_t u = 0; u < n_used; ++u)
      for (int32_t q = 0; q < k_; ++q)
        if (!is_used_[q]) consider(gain_[q] - loss(u)[q], u, q);
    if (out < 0 && in < 0) return false;
    if (out >= 0) used_.erase(used_.begin() + out);
    if (in >= 0) used_.insert(std::lower_bound(used_.begin(), used_.end(), in), in);
    return true;
  }

  const Rows& rows_;
  const int64_t k_;
  const double penalty_;
  Gaps gaps_;
  const int64_t* member_ = nullptr;
  int64_t n_ = 0;
  bool weighs_ = true;
  double cost_ = 0.0;
  std::vector<int32_t> used_;  // ascending, so that ties go to the oldest
  std::vector<double> gain_, drop_, loss_;
  std::vector<char> is_used_;
};

}  // namespace kfree::groups
