// The canonical arithmetic: float64, coordinates in order, multiply then add, never fused (-ffp-contract=off); and
// bounds on the errors of float32 ranking. Rows have their own loops for it (dense.cpp, sparse.cpp).
#pragma once
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

#include "assign/rank.hpp"

#if defined(__FAST_MATH__)
#error "kfree's arithmetic is exact: build it without -ffast-math"
#endif
static_assert(FLT_EVAL_METHOD == 0, "float64 must be computed as float64");

namespace kfree::exact {

// Σ_t (z_t − c_t)² to each of the PANEL sites of one panel. Lanes do not mix: every bit is that of the plain loop.
inline void sq_dist_panel(const double* z, const double* panel, int64_t d, double* out) {
  double sum[PANEL] = {};
  for (int64_t t = 0; t < d; ++t)
    for (int lane = 0; lane < PANEL; ++lane) {
      const double gap = z[t] - panel[t * PANEL + lane];
      sum[lane] += gap * gap;
    }
  for (int lane = 0; lane < PANEL; ++lane) out[lane] = sum[lane];
}

// Euclidean length of the values that `each` visits, scaled by the largest so that nothing overflows on the way.
template <class Each>
double length(Each each) {
  double largest = 0.0, sum = 0.0;
  each([&largest](int64_t, double value) { largest = std::max(largest, std::fabs(value)); });
  if (largest > 0.0) each([&sum, largest](int64_t, double value) { sum += (value / largest) * (value / largest); });
  return largest * std::sqrt(sum);
}

// How far the score of rank.hpp, in float32, can be from the truth, plus what half a canonical squared distance can be
// off. A lowered score exceeds the truth by at most the row's share, and falls short of it by at most the row's share and
// twice the site's. So a site whose score is higher by more than twice the shares of row and winner is canonically
// farther.
// Rounding of the inputs, of the site's norm, and of n_terms products and sums (Higham 2002, §3.1): each relative to
// |row|·|site| or |site|². Outside float32's range nothing is claimed. Sparse rows have fewer terms than d.
// |row|·|site| ≤ ½|row|² + ½|site|² divides the bound into a share of the row and one of the site, so that distant
// sites do not loosen the bound of the others.
class RankError {
 public:
  explicit RankError(int64_t d) : RankError(d, d) {}
  RankError(int64_t d, int64_t n_terms) {
    const double steps = static_cast<double>(n_terms + 4), unit32 = 0x1p-24 * steps;
    // With more terms a place in a panel that holds no site would be lowered so far that it could win.
    relative_ = unit32 > 0.125 ? std::numeric_limits<double>::infinity() : unit32 / (1.0 - unit32);
    unit64_ = 0x1p-53 * static_cast<double>(d + 4);
    underflow_ = 0x1p-125 * steps;
    // One for the half norm, one for the site's half of the product, one to spare; 8 for canonical roundings.
    lowered_ = std::max(0.0f, std::nextafter(static_cast<float>(1.0 - 3.0 * relative_ - 8.0 * unit64_), 0.0f));
  }

  // Half norms are taken times this, which lowers the score of a site by its share.
  float lowered() const { return lowered_; }
  // What the share of a row is made of: factor·|row|² + least where |row|² is less than most, else infinite; and that of a
  // site, factor·|site|².
  struct Shares {
    double row_factor, row_least, most_sq_norm, site_factor;
  };
  Shares shares(double max_site_norm) const {
    // (|row| + |site|)² ≤ 2|row|² + 2|site|²
    return {0.5 * relative_ + 4.0 * unit64_, underflow_, 5e36 - max_site_norm * max_site_norm,
            0.5 * (1.0 - static_cast<double>(lowered_))};
  }
  // The shares, by squared norms; infinite where nothing is claimed.
  double of_site(double sq_norm) const { return 0.5 * (1.0 - static_cast<double>(lowered_)) * sq_norm; }
  double of_row(double sq_norm, double max_site_norm) const {
    const Shares shares = this->shares(max_site_norm);
    if (!(sq_norm < shares.most_sq_norm)) return std::numeric_limits<double>::infinity();
    return shares.row_factor * sq_norm + shares.row_least;
  }

 private:
  double relative_, unit64_, underflow_;
  float lowered_;
};

// A squared distance that is surely not more than the one that a lowered score of rank.hpp belongs to; `error` is the
// row's share, and taken twice: once for the score, once for the roundings of the norm and of this sum.
inline double sq_dist_bound(float score, double row_sq_norm, double error) {
  // 0 comes first, so that what is not a number becomes 0.
  return std::max(0.0, row_sq_norm + 2.0 * (static_cast<double>(score) - 2.0 * error));
}

// A distance that is surely not more than the true one whose square was computed canonically.
inline double safe_dist(double sq_dist, int64_t d) {
  return std::sqrt(sq_dist) * (1.0 - 0x1p-52 * static_cast<double>(d + 8));
}

// Whether a site with the second squared distance is canonically farther than one with the first, where d squares were
// added in any order: each is within (d + 3)·2⁻⁵³ of the true sum, as the canonical one is, if no square underflows.
inline bool surely_less(double sq_dist, double other, int64_t d) {
  return 0x1p-900 < sq_dist && sq_dist * (1.0 + 0x1p-50 * static_cast<double>(d + 4)) < other && std::isfinite(other);
}

}  // namespace kfree::exact
