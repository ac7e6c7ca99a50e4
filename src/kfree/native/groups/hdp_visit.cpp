// Step 4 of Algorithm 2 (Kulis & Jordan 2012): row after row, but groups side by side where that changes nothing.
#include <algorithm>
#include <atomic>
#include <limits>

#include "groups/hdp.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

constexpr double FAR = std::numeric_limits<double>::infinity();
// Groups that are processed together on the assumption that none of them opens a site.
constexpr int64_t FEWEST_TOGETHER = 4, MOST_TOGETHER = 1024;

// Step 4 of Algorithm 2 in one group after the other.
class Visitor {
 public:
  Visitor(const Rows& rows, double lam_local, double lam_global)
      : rows_(rows), lam_local_(lam_local), lam_global_(lam_global) {}

  // Rows of a group against `sites`, the first n_used of which have an entry in `used`. A row that opens a site calls
  // open(row), which returns whether the group may continue; it may add to the sites.
  template <class Open>
  bool group(const int64_t* member, int64_t n, const Sites& sites, const bool* used, int64_t n_used, int32_t* label,
             double* sq_dist, Open open) {
    is_used_.assign(used, used + n_used);
    fee_.clear();
    make_room(sites);
    for (int64_t q = 0; q < n_used; ++q)
      if (used[q]) fee_[q] = 0.0;
    uses_any_ = std::count(used, used + n_used, true) > 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = member[i];
      const double w = rows_.weight(row);
      if (!(w > 0.0)) {
        nearest_used(row, sites);
      } else if (nearest(row, w, sites) > lam_local_ + lam_global_) {
        if (!open(row)) return false;
        site_ = static_cast<int32_t>(sites.k) - 1;
        gap_ = 0.0;
        make_room(sites);
      }
      if (w > 0.0) use(site_);
      label[row] = site_;
      sq_dist[row] = gap_;
    }
    return true;
  }

 private:
  // For new sites, which the group does not use yet.
  void make_room(const Sites& sites) {
    fee_.resize(sites.n_panels() * PANEL, lam_local_);
    is_used_.resize(sites.k, false);
  }

  void use(int32_t site) {
    uses_any_ = is_used_[site] = true;
    fee_[site] = 0.0;
  }

  // Finds the cheapest site for the row and returns what it costs.
  double nearest(int64_t row, double w, const Sites& sites) {
    double least = FAR;
    site_ = 0;
    gap_ = FAR;
    each_panel(row, sites, [&](int64_t first, const double* gap, int64_t n) {
      double cost[PANEL], lowest = FAR;
      for (int lane = 0; lane < PANEL; ++lane) cost[lane] = w * gap[lane] + fee_[first + lane];
      for (int64_t lane = 0; lane < n; ++lane) lowest = std::min(lowest, cost[lane]);
      if (!(lowest < least)) return;
      least = lowest;
      const int64_t lane = std::find(cost, cost + n, lowest) - cost;
      site_ = static_cast<int32_t>(first + lane);
      gap_ = gap[lane];
    });
    return least;
  }

  // A row without weight opens nothing: it goes to the nearest site of its group, or of all if that has none.
  void nearest_used(int64_t row, const Sites& sites) {
    gap_ = FAR;
    site_ = 0;
    each_panel(row, sites, [&](int64_t first, const double* gap, int64_t n) {
      for (int64_t lane = 0; lane < n; ++lane) {
        const bool may = !uses_any_ || is_used_[first + lane];
        if (!may || !(gap[lane] < gap_)) continue;
        site_ = static_cast<int32_t>(first + lane);
        gap_ = gap[lane];
      }
    });
  }

  // body(first site, squared distances, number of sites)
  template <class Body>
  void each_panel(int64_t row, const Sites& sites, Body body) {
    double gap[PANEL];
    rows_.focus(row, scratch_);
    for (int64_t p = 0; p < sites.n_panels(); ++p) {
      rows_.sq_dist_panel(scratch_, sites, p, gap);
      body(p * PANEL, gap, std::min<int64_t>(PANEL, sites.k - p * PANEL));
    }
  }

  const Rows& rows_;
  const double lam_local_, lam_global_;
  std::vector<double> fee_;    // what using a site costs this group: lam_local, or nothing once it is used
  std::vector<char> is_used_;  // not to be read off the fees, all of which are zero where lam_local is
  bool uses_any_ = false;
  Scratch scratch_;
  int32_t site_ = 0;
  double gap_ = 0.0;
};

}  // namespace

std::vector<int64_t> visit(const Rows& rows, Groups groups, const Sites& old, double lam_local, double lam_global,
                           int n_threads, const bool* used, int32_t* label, double* sq_dist) {
  Sites sites = old;
  std::vector<int64_t> founders;
  std::vector<double> z(rows.d);
  const auto go = [&](Visitor& visitor, int64_t g, auto open) {
    return visitor.group(groups.member + groups.begin[g], groups.begin[g + 1] - groups.begin[g], sites,
                         used + g * old.k, old.k, label, sq_dist, open);
  };
  Visitor alone(rows, lam_local, lam_global);
  int64_t together = FEWEST_TOGETHER;
  // Groups are tried side by side as long as none of them opens a site, which all later ones would have to see.
  for (int64_t done = 0; done < groups.n;) {
    const int64_t end = std::min(groups.n, done + together);
    std::atomic<int64_t> opens{end};
    Blocks(end - done).run(n_threads, [&](Worker& worker) {
      Visitor visitor(rows, lam_local, lam_global);
      for (int64_t b; (b = worker.next()) >= 0;) {
        const int64_t g = done + b;
        if (g > opens || go(visitor, g, [](int64_t) { return false; })) continue;
        for (int64_t first = opens; g < first && !opens.compare_exchange_weak(first, g);) continue;
      }
    });
    done = opens;
    together = std::min(2 * together, MOST_TOGETHER);
    if (done == end) continue;
    go(alone, done++, [&](int64_t row) {
      rows.copy(row, z.data());
      sites.append(z.data());
      founders.push_back(row);
      return true;
    });
    together = FEWEST_TOGETHER;
  }
  return founders;
}

}  // namespace kfree
