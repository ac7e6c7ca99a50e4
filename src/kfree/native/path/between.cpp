#include "path/between.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kfree {
namespace {

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
  const double sq_gap = segment.gap * segment.gap;
  for (int64_t c = 0; c < rows.k; ++c) {
    const double foot = segment.foot[c];
    const double to_foot = sq_a + foot * (sq_b - sq_a) - foot * (1.0 - foot) * sq_gap;
    if (c != segment.a && c != segment.b && !(to_foot <= rows.sq_dist[c * rows.n + i])) return false;
  }
  return true;
}

}  // namespace

// One end of a segment: the weight of its rows, and the sum of their weighted places along the line.
struct RowsBetween::End {
  int64_t centre;
  double mass, total, least_mass, mean;

  End(const RowsBetween& rows, int64_t centre) : centre(centre) {
    std::vector<double> weight, weighted;
    for (int64_t m = rows.begin_[centre]; m < rows.begin_[centre + 1]; ++m) {
      const int64_t i = rows.member_[m];
      weight.push_back(rows.rows_.weight[i]);
      weighted.push_back(rows.rows_.weight[i] * rows.along_[i]);
    }
    mass = numpy_sum(weight.data(), weight.size());
    total = numpy_sum(weighted.data(), weighted.size());
    least_mass = rows.tube_.least_share * mass;
    mean = mean_of(total, mass);
  }

  // The mean place of the rows but this one.
  double mean_without(const RowsBetween& rows, int64_t i) const {
    if (rows.label_[i] != centre) return mean;
    const double own = rows.rows_.weight[i];
    return mean_of(total - own * rows.along_[i], mass - own);
  }

 private:
  // Not a number where the weight is rounding.
  double mean_of(double sum, double of) const {
    return of > least_mass ? sum / of : std::numeric_limits<double>::quiet_NaN();
  }
};

RowsBetween::RowsBetween(const HeldOut& rows, const Tube& tube)
    : rows_(rows), tube_(tube), label_(rows.n), begin_(rows.k + 1), member_(rows.n), along_(rows.n), sq_off_(rows.n) {
  std::vector<double> least(rows.sq_dist, rows.sq_dist + rows.n);
  for (int64_t c = 1; c < rows.k; ++c)
    for (int64_t i = 0; i < rows.n; ++i) {
      const double sq_dist = rows.sq_dist[c * rows.n + i];
      label_[i] = sq_dist < least[i] ? c : label_[i];
      least[i] = sq_dist < least[i] ? sq_dist : least[i];
    }
  for (const int64_t c : label_) ++begin_[c + 1];
  for (int64_t c = 0; c < rows.k; ++c) begin_[c + 1] += begin_[c];
  std::vector<int64_t> next = begin_;
  for (int64_t i = 0; i < rows.n; ++i) member_[next[label_[i]]++] = i;
}

bool RowsBetween::find(const Segment& segment) {
  of_ends_.clear();
  row.clear();
  place.clear();
  weight.clear();
  for (const int64_t c : {segment.a, segment.b})
    if (begin_[c + 1] - begin_[c] < 2) return false;
  const double *sq_a = rows_.sq_dist + segment.a * rows_.n, *sq_b = rows_.sq_dist + segment.b * rows_.n;
  const double sq_gap = segment.gap * segment.gap;
  for (int64_t i = 0; i < rows_.n; ++i) {
    along_[i] = (sq_a[i] - sq_b[i]) / (2.0 * segment.gap);
    sq_off_[i] = (sq_a[i] + sq_b[i]) / 2.0 - sq_gap / 4.0 - along_[i] * along_[i];
  }
  for (const int64_t c : {segment.a, segment.b})
    for (int64_t m = begin_[c]; m < begin_[c + 1]; ++m) of_ends_.push_back(sq_off_[member_[m]]);
  const double radius = quantile(of_ends_, tube_.share) + 1e-9 * sq_gap;
  const End a(*this, segment.a), b(*this, segment.b);
  for (int64_t i = 0; i < rows_.n; ++i) {
    if (!(sq_off_[i] <= radius)) continue;
    const double from = a.mean_without(*this, i), to = b.mean_without(*this, i);
    if (!(to - from > 0.0)) continue;
    const double at = (along_[i] - (from + to) / 2.0) / (to - from);
    if (!(std::fabs(at) < tube_.reach) || !in_cell(rows_, segment, i)) continue;
    row.push_back(i);
    place.push_back(at);
    weight.push_back(rows_.weight[i]);
  }
  return true;
}

// Eight sums side by side over up to 128 values; more are halved, at a multiple of eight.
double numpy_sum(const double* value, int64_t n) {
  constexpr int64_t ABREAST = 8, AT_ONCE = 128;
  if (n > AT_ONCE) {
    const int64_t half = n / 2 - n / 2 % ABREAST;
    return numpy_sum(value, half) + numpy_sum(value + half, n - half);
  }
  double total = 0.0;
  int64_t i = 0;
  if (n >= ABREAST) {
    double sum[ABREAST];
    for (; i < ABREAST; ++i) sum[i] = value[i];
    for (; i + ABREAST <= n; i += ABREAST)
      for (int64_t j = 0; j < ABREAST; ++j) sum[j] += value[i + j];
    total = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  }
  for (; i < n; ++i) total += value[i];
  return total;
}

}  // namespace kfree
