// Split DP-means (Odashima et al. 2016, Algorithm 3): clusters in boxes, which refuse rows and are split.
#include <algorithm>
#include <limits>

#include "core/exact.hpp"
#include "stream/online.hpp"

namespace kfree {

// Algorithm 3 leaves out a cluster if the row lies outside of it and would make it so large that it had to split.
bool Stream::refuses(int64_t j, double weight) {
  const double *p = low(j), *q = high(j);
  bool outside = false;
  for (int64_t t = 0; t < state.sites.d; ++t) outside |= (z_[t] < p[t]) | (z_[t] > q[t]);
  if (!outside) return false;
  double range = 0.0;
  for (int64_t t = 0; t < state.sites.d; ++t) range = std::max(range, std::max(q[t], z_[t]) - std::min(p[t], z_[t]));
  return (state.weight[j] + weight * state.growth) * (range * range) > 16.0 * penalty();
}

// The nearest of the clusters that may take the row, or −1 if it is too far.
int64_t Stream::first_willing(double weight) {
  Near best{-1, std::numeric_limits<double>::infinity()};
  for (int64_t p = 0; p < state.sites.n_panels(); ++p) {
    double sq_dist[PANEL];
    exact::sq_dist_panel(z_.data(), state.sites.panel(p), state.sites.d, sq_dist);
    for (int64_t j = p * PANEL; j < std::min(k(), (p + 1) * PANEL); ++j) {
      const double gap = sq_dist[j - p * PANEL];
      if (gap < best.sq_dist && !too_far(weight * gap) && !refuses(j, weight)) best = {j, gap};
    }
  }
  return best.site;
}

void Stream::split_while_due(int64_t j) {
  double cheapest = -1.0;
  while (due(j)) {
    if (k() < state.max_clusters) return halve(j);
    j = raise_penalty(j, cheapest);
  }
}

// Eq. 4, as weight·range² > 16·lam, and both halves would have weight.
bool Stream::due(int64_t j) {
  const int64_t t = widest(j);
  const double range = high(j)[t] - low(j)[t], middle = state.sites[j][t];
  return state.weight[j] * (range * range) > 16.0 * penalty() && low(j)[t] < middle && middle < high(j)[t];
}

int64_t Stream::widest(int64_t j) {
  int64_t best = 0;
  for (int64_t t = 1; t < state.sites.d; ++t)
    if (high(j)[t] - low(j)[t] > high(j)[best] - low(j)[best]) best = t;
  return best;
}

// Eq. 6 as printed. The left half keeps the place and the id; the right half is the youngest cluster.
void Stream::halve(int64_t j) {
  const int64_t d = state.sites.d, t = widest(j);
  const double from = low(j)[t], to = high(j)[t], middle = state.sites[j][t], weight = state.weight[j];
  log(Event::SPLIT, state.id[j], state.next_id);
  std::vector<double> centre(state.sites[j], state.sites[j] + d);
  const std::vector<double> box_low(low(j), low(j) + d), box_high(high(j), high(j) + d);
  state.low.insert(state.low.end(), box_low.begin(), box_low.end());
  state.high.insert(state.high.end(), box_high.begin(), box_high.end());
  state.weight[j] = weight * ((middle - from) / (to - from));
  high(j)[t] = middle;
  centre[t] = (middle + from) / 2;
  state.sites.place(j, centre.data());
  state.id.push_back(state.next_id++);
  state.last.push_back(state.n_counted);
  state.weight.push_back(weight * ((to - middle) / (to - from)));
  centre[t] = (middle + to) / 2;
  state.sites.append(centre.data());
  low(k() - 1)[t] = middle;
  ahead_.moved(j, state.sites);
  ahead_.moved(k() - 1, state.sites);
}

}  // namespace kfree
