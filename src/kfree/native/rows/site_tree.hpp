// An index over sites for few columns: a tree of boxes (a kd-tree after Bentley 1975), so that a search looks at few of
// many sites. What it finds has the bits of comparing all: a box is as far as its nearest point in canonical arithmetic,
// which rounds the same way for all points, so that no site in the box can be canonically nearer.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "core/exact.hpp"
#include "rows/rows.hpp"

namespace kfree {

// What is looked for decides itself which boxes it skips: a type with
//   bool skips(double sq_dist, int64_t first): no site in the box is nearer than that or older than `first`
//   void visit(int64_t j, double sq_dist): a site and its canonical squared distance

// The nearest site but `own`, among the first n_sites, the oldest on ties. Begins with a site and a squared distance that
// others must be below; as `label` −1 and a limit, or MANY and infinity.
struct Nearest {
  static constexpr int32_t MANY = std::numeric_limits<int32_t>::max();
  int32_t label = MANY;
  double sq_dist = std::numeric_limits<double>::infinity();
  int32_t own = -1, n_sites = MANY;

  bool skips(double at_least, int32_t first) const {
    return at_least > sq_dist || (at_least == sq_dist && first >= label) || first >= n_sites;
  }
  void visit(int32_t j, double gap) {
    if (j == own || j >= n_sites || !(gap < sq_dist || (gap == sq_dist && j < label))) return;
    label = j;
    sq_dist = gap;
  }
};

// The nearest site, the oldest on ties, and the squared distance to the second-nearest.
struct NearestTwo {
  int32_t label = 0;
  double sq_dist = std::numeric_limits<double>::infinity(), second = sq_dist;
  int64_t n_visited = 0;

  bool skips(double at_least, int32_t first) const {
    return at_least >= second && !(at_least == sq_dist && first < label);
  }
  void visit(int32_t j, double gap) {
    ++n_visited;
    if (gap < sq_dist || (gap == sq_dist && j < label)) {
      second = sq_dist;
      sq_dist = gap;
      label = j;
    } else if (gap < second) {
      second = gap;
    }
  }
};

class SiteTree {
 public:
  // Over the sites begin … end−1, at least one.
  SiteTree(const Sites& sites, int64_t begin, int64_t end);

  // Whether a search takes less time than ranking all: the more columns, the more boxes are near. With so many sites it
  // took, of Gaussian rows, a sixth (one column), half (two), two thirds (three, four) and all (six) of the time.
  static constexpr int64_t FEWEST_SITES = 512, MOST_COLUMNS = 6;
  static bool pays(int64_t k, int64_t d) { return d >= 1 && d <= MOST_COLUMNS && k >= FEWEST_SITES << d; }

  int64_t begin() const { return begin_; }
  int64_t end() const { return begin_ + static_cast<int64_t>(place_.size()); }
  // Site j is elsewhere now: the boxes that hold it grow.
  void move(const Sites& sites, int64_t j);
  // How many moves there were; boxes that grow too often overlap.
  int64_t n_moves() const { return n_moves_; }

  // in z (d,): canonical coordinates of a row
  template <class Seeker>
  void search(const double* z, Seeker& seeker) const {
    struct Open {
      double at_least;
      int32_t node;
    } open[MOST_LEVELS];
    int n_open = 0;
    open[n_open++] = {sq_dist_of_box(z, 0), 0};
    while (n_open > 0) {
      const auto [at_least, n] = open[--n_open];
      const Node& node = nodes_[n];
      if (seeker.skips(at_least, node.first)) continue;
      if (node.n_panels == 1) {
        visit_panel(z, node.panel, seeker);
        continue;
      }
      Open near = {sq_dist_of_box(z, n + 1), n + 1}, far = {sq_dist_of_box(z, node.right), node.right};
      if (far.at_least < near.at_least) std::swap(near, far);
      open[n_open++] = far;
      open[n_open++] = near;
    }
  }

 private:
  // The left child of node n is n + 1.
  struct Node {
    int32_t right, panel, n_panels;
    int32_t first;  // the oldest site below
  };
  // Twice as many nodes as panels, halved from level to level; one is open per level and two at the last.
  static constexpr int MOST_LEVELS = 40;

  void build(const Sites& sites, std::vector<int32_t>& order, int64_t panel, int64_t n_panels);
  void fill_panels(const Sites& sites, const std::vector<int32_t>& order);

  double sq_dist_of_box(const double* z, int64_t n) const {
    const double* low = box_.data() + n * 2 * d_;
    double sum = 0.0;
    for (int64_t t = 0; t < d_; ++t) {
      const double below = low[t] - z[t], above = z[t] - low[d_ + t];
      const double gap = std::max(0.0, std::max(below, above));
      sum += gap * gap;
    }
    return sum;
  }

  template <class Seeker>
  void visit_panel(const double* z, int64_t p, Seeker& seeker) const {
    double sq_dist[PANEL];
    exact::sq_dist_panel(z, panels_.data() + p * d_ * PANEL, d_, sq_dist);
    const int32_t* id = id_.data() + p * PANEL;
    const int n = static_cast<int>(std::min<int64_t>(PANEL, id_.size() - p * PANEL));
    for (int lane = 0; lane < n; ++lane) seeker.visit(id[lane], sq_dist[lane]);
  }

  int64_t d_, begin_, n_moves_ = 0;
  std::vector<Node> nodes_;
  std::vector<double> box_;     // (n_nodes, 2, d): lowest and highest coordinates
  std::vector<double> panels_;  // (n_panels, d, PANEL)
  std::vector<int32_t> id_;     // the sites in the order of panels
  std::vector<int32_t> place_;  // and where each site is in it
};

// Sites that are added and moved one by one: trees over consecutive sites, each at least twice as large as the next, so
// that a site is put into a tree O(log k) times (the logarithmic method of Bentley and Saxe 1980).
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

  // in z (d,): canonical coordinates of a row
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

// The sites of a tree that are nearest to a row.
inline NearestTwo nearest_two(const Rows& rows, int64_t row, const SiteTree& tree, Scratch& scratch) {
  NearestTwo found;
  rows.focus(row, scratch);
  tree.search(scratch.z.data(), found);
  return found;
}

// A tree over the sites of a pass, made by the first thread that needs it; none where it does not pay.
class TreeOnDemand {
 public:
  TreeOnDemand(const Rows& rows, const Sites& sites)
      : sites_(sites), pays_(rows.has_coordinates() && SiteTree::pays(sites.k, sites.d)) {}
  const SiteTree* get() {
    if (!pays_) return nullptr;
    std::call_once(made_, [this] { tree_.emplace(sites_, 0, sites_.k); });
    return &*tree_;
  }

 private:
  const Sites& sites_;
  const bool pays_;
  std::once_flag made_;
  std::optional<SiteTree> tree_;
};

}  // namespace kfree
