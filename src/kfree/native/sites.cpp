#include "sites.hpp"

#include <algorithm>
#include <cmath>

namespace kfree {

Sites::Sites(const double* centres, int64_t k, int64_t d) : d(d) {
  const int64_t padded = (k + PANEL - 1) / PANEL * PANEL;
  centre.reserve(k * d);
  panels.reserve(padded * d);
  panels32.reserve(padded * d);
  for (int64_t j = 0; j < k; ++j) append(centres + j * d);
}

void Sites::append(const double* c) {
  const int64_t lane = k % PANEL;
  if (lane == 0) {
    panels.resize(panels.size() + d * PANEL, 0.0);
    panels32.resize(panels32.size() + d * PANEL, 0.0f);
    half_norm32.resize(half_norm32.size() + PANEL, FARTHEST);
  }
  const int64_t offset = (k / PANEL) * d * PANEL + lane;
  double norm = 0.0;
  for (int64_t t = 0; t < d; ++t) {
    panels[offset + t * PANEL] = c[t];
    panels32[offset + t * PANEL] = static_cast<float>(c[t]);
    norm += c[t] * c[t];
  }
  centre.insert(centre.end(), c, c + d);
  sq_norm.push_back(norm);
  half_norm32[k] = static_cast<float>(0.5 * norm);
  max_norm = std::max(max_norm, std::sqrt(norm));
  ++k;
}

}  // namespace kfree
