// An index over sites that are added and moved one by one: trees over consecutive sites, each at least twice as large as
// the next, so that a site is put into a tree O(log k) times (the logarithmic method of Bentley and Saxe 1980).
#pragma once
#include <cstdint>
#include <vector>

#include "rows/site_tree.hpp"

namespace kfree {

class SiteForest {
 public:
  // Sites after those in trees are compared one by one, and put into a tree when there are this many.
  static constexpr int64_t LEAST = 256;
  static_assert(LEAST % PANEL == 0, "a tree holds whole panels");

  // Takes in sites that have been appended since the last call.
  void take_in(const Sites& sites);
  // Site j is elsewhere now, or has been appended.
  void move(const Sites& sites, int64_t j);
  // Sites have been removed or renumbered.
  void clear() { trees_.clear(); }

  // in z (d,); seekers are described in site_tree.hpp
  template <class Seeker>
  void search(const double* z, const Sites& sites, Seeker& seeker) const {
    for (const SiteTree& tree : trees_) tree.search(z, seeker);
    for (int64_t p = end() / PANEL; p * PANEL < sites.k; ++p) {
      double sq_dist[PANEL];
      exact::sq_dist_panel(z, sites.panel(p), sites.d, sq_dist);
      for (int64_t j = p * PANEL; j < std::min(sites.k, (p + 1) * PANEL); ++j)
        seeker.visit(static_cast<int32_t>(j), sq_dist[j - p * PANEL]);
    }
  }

 private:
  int64_t end() const { return trees_.empty() ? 0 : trees_.back().end(); }

  std::vector<SiteTree> trees_;
};

}  // namespace kfree
