// The result of a ranking kernel for a tile of rows, and the bounds that follow from it.
#pragma once
#include <algorithm>
#include <limits>

#include "core/exact.hpp"
#include "rows/sites.hpp"

namespace kfree {

struct Scored {
  float best[TILE], second[TILE];
  int32_t index[TILE];
  double sq_norm[TILE];
  double error[TILE];  // the row's share

  // Finds the two lowest scores of row i, and whose the lowest is, the first one on ties. in scores (·, TILE, PANEL)
  void find_lowest(int i, const float* scores, int64_t n_sites) {
    best[i] = second[i] = FARTHEST;
    index[i] = 0;
    for (int64_t j = 0; j < n_sites; ++j) {
      const float score = scores[(j / PANEL * TILE + i) * PANEL + j % PANEL];
      second[i] = std::min(second[i], std::max(best[i], score));
      index[i] = score < best[i] ? static_cast<int32_t>(j) : index[i];
      best[i] = std::min(best[i], score);
    }
  }

  // Whether the best is surely nearer than the second, in canonical arithmetic too.
  bool decided(int i, const Sites& sites, const exact::RankError& rank_error) const {
    // Outside float32's range the index is not valid, so it is not used.
    return std::isfinite(error[i]) && static_cast<double>(second[i]) - static_cast<double>(best[i]) >
                                          2.0 * (error[i] + rank_error.of_site(sites.sq_norm[index[i]]));
  }
  // Squared distances that are surely not more than the canonical ones of these sites, and of all with higher scores.
  double best_sq_dist(int i) const { return exact::sq_dist_bound(best[i], sq_norm[i], error[i]); }
  double second_sq_dist(int i) const { return exact::sq_dist_bound(second[i], sq_norm[i], error[i]); }
  // No site of the subset that was ranked, but `own`, is nearer than this distance.
  double lower_but(int32_t own, int i, const Subset& some, int64_t d) const {
    if (!std::isfinite(error[i])) return 0.0;
    return exact::safe_dist(some.id[index[i]] == own ? second_sq_dist(i) : best_sq_dist(i), d);
  }
  // The canonical winner among the first n_sites for row i, which ranking did not decide: only sites that may win within
  // the error bounds are compared. in score(j), sq_dist_to(j)
  // out label, sq_dist; second_nearest: no other site is nearer than the root of this
  template <class Score, class SqDistTo>
  void decide(int i, const Sites& sites, int64_t n_sites, const exact::RankError& rank_error, Score score,
              SqDistTo sq_dist_to, int32_t& label, double& sq_dist, double& second_nearest) const {
    double limit = std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < n_sites; ++j)
      limit = std::min(limit, score(j) + 2.0 * (error[i] + rank_error.of_site(sites.sq_norm[j])));
    sq_dist = second_nearest = std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < n_sites; ++j) {
      if (score(j) > limit) {
        second_nearest = std::min(second_nearest, exact::sq_dist_bound(score(j), sq_norm[i], error[i]));
        continue;
      }
      const double gap = sq_dist_to(j);
      if (gap < sq_dist) {
        second_nearest = std::min(second_nearest, sq_dist);
        sq_dist = gap;
        label = static_cast<int32_t>(j);
      } else {
        second_nearest = std::min(second_nearest, gap);
      }
    }
  }
};

}  // namespace kfree
