#include "stream/lookahead.hpp"

#include <algorithm>
#include <limits>

#include "core/exact.hpp"

namespace kfree {
namespace {

// With fewer sites, exact comparisons with every row are faster.
constexpr int64_t WORTH_RANKING = 3 * PANEL;
constexpr double INFINITE = std::numeric_limits<double>::infinity();

}  // namespace

Near nearest_of_all(const double* z, const Sites& sites) {
  Near best{0, INFINITE};
  for (int64_t p = 0; p < sites.n_panels(); ++p) {
    double sq_dist[PANEL];
    exact::sq_dist_panel(z, sites.panel(p), sites.d, sq_dist);
    const int n = static_cast<int>(std::min<int64_t>(PANEL, sites.k - p * PANEL));
    for (int lane = 0; lane < n; ++lane)
      if (sq_dist[lane] < best.sq_dist) best = {p * PANEL + lane, sq_dist[lane]};
  }
  return best;
}

void Lookahead::open(const Rows& rows, int64_t first, int n_rows, const Sites& sites) {
  for (const int64_t j : movers_)
    if (j < static_cast<int64_t>(slot_.size())) slot_[j] = -1;
  movers_.clear();
  indexed_ = rows.has_coordinates() && SiteTree::pays(sites.k, sites.d);
  if (indexed_) forest_.take_in(sites);
  ranked_ = !indexed_ && sites.k >= WORTH_RANKING;
  if (!ranked_) return;
  slot_.resize(sites.k, -1);
  rows.nearest({nullptr, first}, n_rows, sites, sites.k, scratch_, label_, sq_dist_, second_);
}

void Lookahead::moved(int64_t j, const Sites& sites) {
  forest_.move(sites, j);
  if (!ranked_) return;
  slot_.resize(sites.k, -1);
  if (slot_[j] < 0) {
    slot_[j] = static_cast<int32_t>(movers_.size());
    movers_.push_back(j);
    panels_.resize((movers_.size() + PANEL - 1) / PANEL * sites.d * PANEL);
  }
  double* panel = panels_.data() + (slot_[j] / PANEL) * sites.d * PANEL + slot_[j] % PANEL;
  for (int64_t t = 0; t < sites.d; ++t) panel[t * PANEL] = sites[j][t];
}

Near Lookahead::nearest(int place, const double* z, const Sites& sites) const {
  if (indexed_) {
    Nearest found;
    forest_.search(z, sites, found);
    return {found.label, found.sq_dist};
  }
  if (!ranked_) return nearest_of_all(z, sites);
  const bool winner_moved = slot_[label_[place]] >= 0;
  Near best{sites.k, INFINITE};
  if (!winner_moved) best = {label_[place], sq_dist_[place]};
  const int64_t n_movers = static_cast<int64_t>(movers_.size());
  for (int64_t first = 0; first < n_movers; first += PANEL) {
    double sq_dist[PANEL];
    exact::sq_dist_panel(z, panels_.data() + first * sites.d, sites.d, sq_dist);
    for (int64_t i = first; i < std::min<int64_t>(n_movers, first + PANEL); ++i) {
      const double gap = sq_dist[i - first];
      if (gap < best.sq_dist || (gap == best.sq_dist && movers_[i] < best.site)) best = {movers_[i], gap};
    }
  }
  // Of those that have not moved, none but the winner is nearer than `lower`.
  const double up = 1.0 + 0x1p-51 * static_cast<double>(sites.d + 16);
  const double lower = exact::safe_dist(second_[place], sites.d);
  const bool sure = !winner_moved || (lower > 0.0 && lower * lower > up * best.sq_dist);
  return sure ? best : nearest_of_all(z, sites);
}

}  // namespace kfree
