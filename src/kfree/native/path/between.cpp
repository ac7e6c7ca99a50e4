#include "path/between.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "path/numpy_sum.hpp"

namespace kfree {
namespace {

// One end of a segment: the weight of its rows, and the sum of their weighted places along the line.
struct End {
  int64_t centre;
  double mass, total;

  End(const HeldOut& rows, int64_t centre, const std::vector<double>& along) : centre(centre) {
    std::vector<double> weight, weighted;
    for (int64_t i = 0; i < rows.n; ++i) {
      if (rows.label[i] != centre) continue;
      weight.push_back(rows.weight[i]);
      weighted.push_back(rows.weight[i] * along[i]);
    }
    mass = numpy_sum(weight.data(), weight.size());
    total = numpy_sum(weighted.data(), weighted.size());
  }

  // The mean place of the rows but one, which is not a number where the others are rounding.
  double mean_without(const HeldOut& rows, int64_t i, double along, double least_share) const {
    const double own = rows.label[i] == centre ? rows.weight[i] : 0.0, others = mass - own;
    return others > least_share * mass ? (total - own * along) / others : std::numeric_limits<double>::quiet_NaN();
  }
};

// Between the two values next to the share's place in their order.
double quantile(std::vector<double>& value, double share) {
  const auto n = static_cast<int64_t>(value.size());
  const double place = share * static_cast<double>(n - 1);
  const int64_t low = std::min(static_cast<int64_t>(place), n - 2);
  // What is not a number comes last, as in NumPy.
  const auto before = [](double x, double y) { return x < y || (std::isnan(y) && !std::isnan(x)); };
  std::nth_element(value.begin(), value.begin() + low, value.end(), before);
  const double below = value[low], above = *std::min_element(value.begin() + low + 1, value.end(), before);
  return below + (above - below) * (place - static_cast<double>(low));
}

// Whether a row is, for every other centre c, nearer to the point of the segment next to c than to c itself.
bool in_cell(const HeldOut& rows, const Segment& segment, int64_t i) {
  const double sq_a = rows.sq_dist[segment.a * rows.n + i], sq_b = rows.sq_dist[segment.b * rows.n + i];
  for (int64_t c = 0; c < rows.k; ++c) {
    const double foot = segment.foot[c];
    const double to_foot = sq_a + foot * (sq_b - sq_a) - foot * (1.0 - foot) * segment.sq_gap;
    if (c != segment.a && c != segment.b && !(to_foot <= rows.sq_dist[c * rows.n + i])) return false;
  }
  return true;
}

}  // namespace

Between between(const HeldOut& rows, const Segment& segment, double share, double reach, double least_share) {
  const double *sq_a = rows.sq_dist + segment.a * rows.n, *sq_b = rows.sq_dist + segment.b * rows.n;
  std::vector<double> along(rows.n), sq_off(rows.n), of_ends;
  for (int64_t i = 0; i < rows.n; ++i) {
    along[i] = (sq_a[i] - sq_b[i]) / (2.0 * segment.gap);
    sq_off[i] = (sq_a[i] + sq_b[i]) / 2.0 - segment.sq_gap / 4.0 - along[i] * along[i];
  }
  for (int64_t i = 0; i < rows.n; ++i)
    if (rows.label[i] == segment.a || rows.label[i] == segment.b) of_ends.push_back(sq_off[i]);
  const double radius = quantile(of_ends, share) + 1e-9 * segment.sq_gap;
  const End a(rows, segment.a, along), b(rows, segment.b, along);
  Between found;
  for (int64_t i = 0; i < rows.n; ++i) {
    if (!(sq_off[i] <= radius)) continue;
    const double from = a.mean_without(rows, i, along[i], least_share), to = b.mean_without(rows, i, along[i], least_share);
    if (!(to - from > 0.0)) continue;
    const double place = (along[i] - (from + to) / 2.0) / (to - from);
    if (!(std::fabs(place) < reach) || !in_cell(rows, segment, i)) continue;
    found.row.push_back(i);
    found.place.push_back(place);
  }
  return found;
}

}  // namespace kfree
