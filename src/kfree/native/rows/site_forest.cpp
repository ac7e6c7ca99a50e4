#include "rows/site_forest.hpp"

#include <algorithm>

namespace kfree {

void SiteForest::take_in(const Sites& sites) {
  const int64_t n_new = (sites.k - end()) / LEAST * LEAST;
  if (n_new == 0) return;
  int64_t begin = end();
  const int64_t new_end = begin + n_new;
  while (!trees_.empty() && trees_.back().end() - trees_.back().begin() < 2 * (new_end - begin)) {
    begin = trees_.back().begin();
    trees_.pop_back();
  }
  trees_.emplace_back(sites, begin, new_end);
}

void SiteForest::move(const Sites& sites, int64_t j) {
  if (j >= end()) return;
  const auto tree = std::find_if(trees_.begin(), trees_.end(), [j](const SiteTree& t) { return j < t.end(); });
  tree->move(sites, j);
  const int64_t begin = tree->begin(), tree_end = tree->end();
  if (tree->n_moves() > tree_end - begin) *tree = SiteTree(sites, begin, tree_end);
}

}  // namespace kfree
