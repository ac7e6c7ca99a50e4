#include "path/dips.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kfree {
namespace {

double sum_of_squares(const std::vector<double>& value) {
  std::vector<double> square(value);
  for (double& one : square) one *= one;
  return numpy_sum(square.data(), square.size());
}

// The weight of the rows with such places.
template <class Inside>
double mass_where(const RowsBetween& between, Inside inside) {
  std::vector<double> weight;
  for (size_t i = 0; i < between.place.size(); ++i)
    if (inside(between.place[i])) weight.push_back(between.weight[i]);
  return numpy_sum(weight.data(), weight.size());
}

auto window(double centre, double half) {
  return [=](double place) { return std::fabs(place - centre) < half; };
}

// Shortfalls of one segment after the other, and each row's part in their sum.
class Sum {
 public:
  Sum(int64_t n_rows, Shortfalls out) : out_(out), influence_(n_rows) {}

  void is_unknown(int64_t segment) {
    out_.excess[segment] = out_.sigmas[segment] = std::numeric_limits<double>::quiet_NaN();
  }
  // `influence` of a place is that of a row of weight one.
  template <class Influence>
  void add(int64_t segment, const RowsBetween& between, double excess, Influence influence) {
    own_.clear();
    for (size_t i = 0; i < between.row.size(); ++i) {
      own_.push_back(between.weight[i] * influence(between.place[i]));
      influence_[between.row[i]] += own_.back();
    }
    out_.excess[segment] = excess;
    out_.sigmas[segment] = excess / std::sqrt(1.0 + sum_of_squares(own_));
  }
  double variance() const { return sum_of_squares(influence_); }

 private:
  const Shortfalls out_;
  std::vector<double> influence_, own_;
};

Segment segment_of(const Segments& segments, int64_t s, int64_t k) {
  return {segments.pair[2 * s], segments.pair[2 * s + 1], segments.gap[s], segments.foot + s * k};
}

double emptiest(const RowsBetween& training, const Places& places) {
  std::vector<double> mass(places.n_places);
  for (int64_t p = 0; p < places.n_places; ++p) mass[p] = mass_where(training, window(places.place[p], places.half));
  const double least = *std::min_element(mass.begin(), mass.end());
  std::vector<double> lowest;
  for (int64_t p = 0; p < places.n_places; ++p)
    if (mass[p] == least) lowest.push_back(places.place[p]);
  return lowest[lowest.size() / 2];
}

}  // namespace

double dips_in_the_middle(const HeldOut& rows, const Segments& segments, const Tube& tube, double half, Shortfalls out) {
  RowsBetween between(rows, tube);
  Sum sum(rows.n, out);
  for (int64_t s = 0; s < segments.m; ++s) {
    if (!between.find(segment_of(segments, s, rows.k))) {
      sum.is_unknown(s);
      continue;
    }
    // The reach ends where the outer windows do.
    const auto at_left = [=](double place) { return place < -half; };
    const auto at_right = [=](double place) { return place > half; };
    const auto at_middle = window(0.0, half);
    const double left = mass_where(between, at_left), right = mass_where(between, at_right);
    const bool have_both = left > 0.0 && right > 0.0;
    const double of_left = have_both ? 0.5 * std::sqrt(right / left) : 0.0;
    const double of_right = have_both ? 0.5 * std::sqrt(left / right) : 0.0;
    sum.add(s, between, std::sqrt(left * right) - mass_where(between, at_middle), [&](double place) {
      return at_middle(place) ? -1.0 : at_left(place) ? of_left : at_right(place) ? of_right : 0.0;
    });
  }
  return sum.variance();
}

double dips_somewhere(const HeldOut& rows, const HeldOut& training, const Segments& segments, const Tube& tube,
                      const Places& places, Shortfalls out) {
  RowsBetween between(rows, tube), trained(training, tube);
  Sum sum(rows.n, out);
  for (int64_t s = 0; s < segments.m; ++s) {
    const Segment segment = segment_of(segments, s, rows.k);
    if (!between.find(segment) || !trained.find(segment)) {
      sum.is_unknown(s);
      continue;
    }
    const auto at_left = window(-0.5, places.half), at_right = window(0.5, places.half);
    const auto at_middle = window(emptiest(trained, places), places.half);
    const double left = mass_where(between, at_left), right = mass_where(between, at_right);
    const bool left_is_emptier = left <= right;
    // An end and the middle may overlap.
    sum.add(s, between, std::min(left, right) - mass_where(between, at_middle), [&](double place) {
      return (left_is_emptier ? at_left(place) : at_right(place)) - static_cast<double>(at_middle(place));
    });
  }
  return sum.variance();
}

}  // namespace kfree
