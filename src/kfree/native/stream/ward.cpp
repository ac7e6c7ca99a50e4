#include "stream/ward.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/exact.hpp"
#include "core/parallel.hpp"
#include "core/partners.hpp"
#include "rows/site_tree.hpp"

namespace kfree {
namespace {

// The clusters still there, and for each the cheapest of the younger ones to merge with: k numbers, not k².
class Pairs {
 public:
  Pairs(Sites sites, std::vector<double> weight, const std::function<bool()>& go_on)
      : sites_(std::move(sites)), weight_(std::move(weight)), lightest_(*std::ranges::min_element(weight_)),
        go_on_(go_on), alive_(sites_.k, true), partners_(sites_.k) {
    if (SiteTree::pays(sites_.k, sites_.d)) tree_.emplace(sites_, 0, sites_.k);
    for (int64_t a = 0; a < sites_.k; ++a) find_partner(a);
  }

  // The cheapest pair.
  MergePair first() {
    return partners_.first([&](int64_t a) { find_partner(a); });
  }

  Merge merge(int64_t into, int64_t from) {
    const double both = weight_[into] + weight_[from], share = weight_[from] / both;
    std::vector<double> centre(sites_[into], sites_[into] + sites_.d);
    move_towards(centre.data(), sites_[from], share, sites_.d);
    sites_.place(into, centre.data());
    if (tree_) tree_->move(sites_, into);
    weight_[into] = both;
    alive_[from] = false;
    partners_.remove(from);
    for (int64_t a = 0; a < from; ++a) {
      if (!alive_[a]) continue;
      // At once: a rounding error could make a lower bound of the old cost too high.
      if (a == into || partners_.has(a, into) || partners_.has(a, from)) find_partner(a);
      else if (a < into) partners_.offer(a, {a, into, exact_cost(a, into)});
    }
    return {into, from, share};
  }

 private:
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

  // The younger cluster that is cheapest to merge with, among those visited.
  struct Partner {
    const Pairs& pairs;
    const int64_t a;
    // No pair costs less than half the lighter weight, a little less for roundings, times the squared distance: most
    // are dismissed without a division.
    const double at_least = 0.499 * std::min(pairs.weight_[a], pairs.lightest_);
    MergePair best = {};

    bool skips(double sq_dist, int32_t) const { return at_least * sq_dist > best.cost; }
    void visit(int32_t b, double sq_dist) {
      if (b <= a || !pairs.alive_[b]) return;
      if (const MergePair pair{a, b, pairs.pair_cost(a, b, sq_dist)}; pair.before(best)) best = pair;
    }
  };

  void find_partner(int64_t a) {
    if (!go_on_()) throw Interrupted();
    Partner partner{*this, a};
    if (tree_)
      tree_->search(sites_[a], partner);
    else
      look_at_all(partner);
    partners_.set(a, partner.best);
  }

  void look_at_all(Partner& partner) const {
    for (int64_t p = (partner.a + 1) / PANEL; p * PANEL < sites_.k; ++p) {
      double sq_dist[PANEL];
      exact::sq_dist_panel(sites_[partner.a], sites_.panel(p), sites_.d, sq_dist);
      for (int64_t b = p * PANEL; b < std::min(sites_.k, (p + 1) * PANEL); ++b)
        if (!partner.skips(sq_dist[b - p * PANEL], b)) partner.visit(b, sq_dist[b - p * PANEL]);
    }
  }

  Sites sites_;
  std::optional<SiteTree> tree_;
  std::vector<double> weight_;
  const double lightest_;
  const std::function<bool()>& go_on_;
  std::vector<char> alive_;
  Partners partners_;
};

}  // namespace

Merges merge_cheapest(Sites sites, std::vector<double> weight, double penalty, const std::function<bool()>& go_on) {
  Merges merges{{}, std::numeric_limits<double>::infinity()};
  if (sites.k < 2) return merges;
  Pairs pairs(std::move(sites), std::move(weight), go_on);
  MergePair pair = pairs.first();
  for (; pair.cost < penalty; pair = pairs.first()) merges.list.push_back(pairs.merge(pair.a, pair.b));
  merges.lowest = pair.cost;
  return merges;
}

}  // namespace kfree
