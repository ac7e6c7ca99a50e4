#include "rows.hpp"

#include <algorithm>

namespace kfree {

void Rows::improve(int64_t row, const Sites& sites, int64_t first, int64_t n_sites, Scratch& scratch, int32_t& label,
                   double& sq_dist) const {
  focus(row, scratch);
  for (int64_t p = first / PANEL; p * PANEL < n_sites; ++p) {
    double panel[PANEL];
    sq_dist_panel(scratch, sites, p, panel);
    const int64_t begin = std::max(first, p * PANEL), end = std::min(n_sites, (p + 1) * PANEL);
    for (int64_t j = begin; j < end; ++j)
      if (panel[j - p * PANEL] < sq_dist) {
        sq_dist = panel[j - p * PANEL];
        label = static_cast<int32_t>(j);
      }
  }
}

}  // namespace kfree
