#include "rows/rows.hpp"

#include <algorithm>
#include <utility>

#include "core/parallel.hpp"

namespace kfree {

void Rows::measure_lengths(const std::function<double(int64_t)>& length) {
  constexpr int64_t AT_ONCE = 1024;
  std::vector<double> lengths(n);
  Blocks((n + AT_ONCE - 1) / AT_ONCE).run_alone([&](Worker& worker) {
    for (int64_t b; (b = worker.next()) >= 0;)
      for (int64_t row = b * AT_ONCE; row < std::min(n, (b + 1) * AT_ONCE); ++row) lengths[row] = length(row);
  });
  lengths_ = std::move(lengths);
}

void Rows::sq_dists_unless(Known known, RowSet rows, int n_rows, const Sites& sites, const int32_t* label,
                           double* sq_dist) const {
  if (!known.label) return sq_dists(rows, n_rows, sites, label, sq_dist);
  int64_t row[TILE];
  int32_t site[TILE];
  int place[TILE], n = 0;
  double found[TILE];
  for (int i = 0; i < n_rows; ++i) {
    sq_dist[i] = known.sq_dist[i];
    place[n] = i;
    row[n] = rows[i];
    site[n] = label[i];
    n += label[i] != known.label[i];
  }
  sq_dists({row, 0}, n, sites, site, found);
  for (int i = 0; i < n; ++i) sq_dist[place[i]] = found[i];
}

void Rows::improve(int64_t row, const Sites& sites, int64_t first, int64_t n_sites, Scratch& scratch, int32_t& label,
                   double& sq_dist, double& second_sq_dist) const {
  focus(row, scratch);
  for (int64_t p = first / PANEL; p * PANEL < n_sites; ++p) {
    double panel[PANEL];
    sq_dist_panel(scratch, sites, p, panel);
    const int64_t begin = std::max(first, p * PANEL), end = std::min(n_sites, (p + 1) * PANEL);
    for (int64_t j = begin; j < end; ++j) {
      const double gap = panel[j - p * PANEL];
      if (gap < sq_dist) {
        second_sq_dist = sq_dist;
        sq_dist = gap;
        label = static_cast<int32_t>(j);
      } else if (gap < second_sq_dist) {
        second_sq_dist = gap;
      }
    }
  }
}

}  // namespace kfree
