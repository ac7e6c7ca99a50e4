#include "stream/ward.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/exact.hpp"
#include "core/parallel.hpp"
#include "rows/site_tree.hpp"

namespace kfree {
namespace {

// The clusters still there, and for each the cheapest of the younger ones to merge with: k numbers, not k².
class Pairs {
 public:
  Pairs(Sites sites, std::vector<double> weight, const std::function<bool()>& go_on)
      : sites_(std::move(sites)), weight_(std::move(weight)), lightest_(*std::ranges::min_element(weight_)),
        go_on_(go_on), alive_(sites_.k, true), partner_(sites_.k, -1), cost_(sites_.k, NEVER) {
    if (SiteTree::pays(sites_.k, sites_.d)) tree_.emplace(sites_, 0, sites_.k);
    for (int64_t a = 0; a < sites_.k; ++a) find_partner(a);
  }

  // The cluster that begins the cheapest pair.
  int64_t cheapest() const { return std::min_element(cost_.begin(), cost_.end()) - cost_.begin(); }
  double cost(int64_t a) const { return cost_[a]; }

  Merge merge(int64_t into) {
    const int64_t from = partner_[into];
    const double both = weight_[into] + weight_[from], share = weight_[from] / both;
    std::vector<double> centre(sites_[into], sites_[into] + sites_.d);
    move_towards(centre.data(), sites_[from], share, sites_.d);
    sites_.place(into, centre.data());
    if (tree_) tree_->move(sites_, into);
    weight_[into] = both;
    alive_[from] = false;
    cost_[from] = NEVER;
    for (int64_t a = 0; a < from; ++a) {
      if (!alive_[a]) continue;
      if (a == into || partner_[a] == into || partner_[a] == from) find_partner(a);
      else if (a < into) offer(a, into, exact_cost(a, into));
    }
    return {into, from, share};
  }

 private:
  static constexpr double NEVER = std::numeric_limits<double>::infinity();

  double pair_cost(int64_t a, int64_t b, double sq_dist) const {
    return weight_[a] * (weight_[b] / (weight_[a] + weight_[b])) * sq_dist;
  }

  double exact_cost(int64_t a, int64_t b) const {
    double sum = 0.0;
    for (int64_t t = 0; t < sites_.d; ++t) {
      const double gap = sites_[a][t] - sites_[b][t];
      sum += gap * gap;
    }
    return pair_cost(a, b, sum);
  }

  void offer(int64_t a, int64_t b, double cost) {
    if (cost < cost_[a] || (cost == cost_[a] && b < partner_[a])) {
      cost_[a] = cost;
      partner_[a] = b;
    }
  }

  void find_partner(int64_t a) {
    if (!go_on_()) throw Interrupted();
    cost_[a] = NEVER;
    partner_[a] = -1;
    // No pair costs less than half the lighter weight, a little less for roundings, times the squared distance: most
    // are dismissed without a division.
    const double at_least = 0.499 * std::min(weight_[a], lightest_);
    if (tree_) {
      Partner partner{*this, a, at_least};
      return tree_->search(sites_[a], partner);
    }
    for (int64_t p = (a + 1) / PANEL; p * PANEL < sites_.k; ++p) {
      double sq_dist[PANEL];
      exact::sq_dist_panel(sites_[a], sites_.panel(p), sites_.d, sq_dist);
      for (int64_t b = std::max(a + 1, p * PANEL); b < std::min(sites_.k, (p + 1) * PANEL); ++b) {
        const double gap = sq_dist[b - p * PANEL];
        if (at_least * gap <= cost_[a] && alive_[b]) offer(a, b, pair_cost(a, b, gap));
      }
    }
  }

  // The younger cluster that is cheapest to merge with, looked for in the tree.
  struct Partner {
    Pairs& pairs;
    const int64_t a;
    const double at_least;

    bool skips(double sq_dist, int32_t) const { return at_least * sq_dist > pairs.cost_[a]; }
    void visit(int32_t b, double sq_dist) {
      if (b > a && pairs.alive_[b]) pairs.offer(a, b, pairs.pair_cost(a, b, sq_dist));
    }
  };

  Sites sites_;
  std::optional<SiteTree> tree_;
  std::vector<double> weight_;
  const double lightest_;
  const std::function<bool()>& go_on_;
  std::vector<char> alive_;
  std::vector<int64_t> partner_;
  std::vector<double> cost_;
};

}  // namespace

Merges merge_cheapest(Sites sites, std::vector<double> weight, double penalty, const std::function<bool()>& go_on) {
  Merges merges{{}, std::numeric_limits<double>::infinity()};
  if (sites.k < 2) return merges;
  Pairs pairs(std::move(sites), std::move(weight), go_on);
  int64_t a = pairs.cheapest();
  for (; pairs.cost(a) < penalty; a = pairs.cheapest()) merges.list.push_back(pairs.merge(a));
  merges.lowest = pairs.cost(a);
  return merges;
}

}  // namespace kfree
