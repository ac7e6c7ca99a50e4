#include "rows/site_tree.hpp"

#include <algorithm>
#include <numeric>

namespace kfree {

SiteTree::SiteTree(const Sites& sites, int64_t begin, int64_t end) : d_(sites.d), begin_(begin), place_(end - begin) {
  std::vector<int32_t> order(end - begin);
  std::iota(order.begin(), order.end(), static_cast<int32_t>(begin));
  const int64_t n_panels = (end - begin + PANEL - 1) / PANEL;
  nodes_.reserve(2 * n_panels);
  box_.reserve(4 * n_panels * d_);
  build(sites, order, 0, n_panels);
  fill_panels(sites, order);
}

// The subtree of the sites in some panels: cut across its longest side into halves of whole panels.
void SiteTree::build(const Sites& sites, std::vector<int32_t>& order, int64_t panel, int64_t n_panels) {
  const auto first = order.begin() + panel * PANEL;
  const auto last = order.begin() + std::min<int64_t>(order.size(), (panel + n_panels) * PANEL);
  const auto n = nodes_.size();
  nodes_.push_back({-1, static_cast<int32_t>(panel), static_cast<int32_t>(n_panels), *std::min_element(first, last)});
  box_.insert(box_.end(), sites[*first], sites[*first] + d_);
  box_.insert(box_.end(), sites[*first], sites[*first] + d_);
  double *low = box_.data() + n * 2 * d_, *high = low + d_;
  for (auto j = first; j != last; ++j)
    for (int64_t t = 0; t < d_; ++t) {
      low[t] = std::min(low[t], sites[*j][t]);
      high[t] = std::max(high[t], sites[*j][t]);
    }
  if (n_panels == 1) return;
  int64_t widest = 0;
  for (int64_t t = 1; t < d_; ++t)
    if (high[t] - low[t] > high[widest] - low[widest]) widest = t;
  const int64_t n_left = (n_panels + 1) / 2;
  std::nth_element(first, first + n_left * PANEL, last, [&](int32_t a, int32_t b) {
    const double x = sites[a][widest], y = sites[b][widest];
    return x < y || (x == y && a < b);
  });
  build(sites, order, panel, n_left);
  nodes_[n].right = static_cast<int32_t>(nodes_.size());
  build(sites, order, panel + n_left, n_panels - n_left);
}

void SiteTree::fill_panels(const Sites& sites, const std::vector<int32_t>& order) {
  id_ = order;
  panels_.resize((order.size() + PANEL - 1) / PANEL * PANEL * d_);
  for (size_t i = 0; i < order.size(); ++i) {
    place_[order[i] - begin_] = static_cast<int32_t>(i);
    double* lane = panels_.data() + i / PANEL * d_ * PANEL + i % PANEL;
    for (int64_t t = 0; t < d_; ++t) lane[t * PANEL] = sites[order[i]][t];
  }
}

void SiteTree::move(const Sites& sites, int64_t j) {
  const int64_t place = place_[j - begin_], panel = place / PANEL;
  const double* c = sites[j];
  double* lane = panels_.data() + panel * d_ * PANEL + place % PANEL;
  for (int64_t t = 0; t < d_; ++t) lane[t * PANEL] = c[t];
  for (int64_t n = 0;;) {
    double *low = box_.data() + n * 2 * d_, *high = low + d_;
    for (int64_t t = 0; t < d_; ++t) {
      low[t] = std::min(low[t], c[t]);
      high[t] = std::max(high[t], c[t]);
    }
    if (nodes_[n].n_panels == 1) break;
    n = panel < nodes_[nodes_[n].right].panel ? n + 1 : nodes_[n].right;
  }
  ++n_moves_;
}

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
