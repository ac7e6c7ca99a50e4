// The Python binding of what the lam path asks of distances; the twins are in reference/path.py.
#include "core/binding.hpp"
#include "core/checks.hpp"
#include "path/dips.hpp"
#include "path/reach.hpp"

namespace kfree::binding {
namespace {

HeldOut held_out(const Matrix<const double>& sq_dist, const Vector<const double>& weight) {
  const auto k = static_cast<int64_t>(sq_dist.shape(0)), n = static_cast<int64_t>(sq_dist.shape(1));
  require(k > 0, "there must be a centre");
  require_shape(weight, "weight", {n});
  return {sq_dist.data(), weight.data(), k, n};
}

Segments segments_of(const Matrix<const int64_t>& pairs, const Vector<const double>& gap,
                     const Matrix<const double>& foot, int64_t k) {
  const auto m = static_cast<int64_t>(pairs.shape(0));
  require_shape(pairs, "pairs", {m, 2});
  require_shape(gap, "gap", {m});
  require_shape(foot, "foot", {m, k});
  require_within("pairs", pairs.data(), 2 * m, k);
  return {pairs.data(), gap.data(), foot.data(), m};
}

Shortfalls shortfalls(const Vector<double>& excess, const Vector<double>& sigmas, int64_t m) {
  require_shape(excess, "excess", {m});
  require_shape(sigmas, "sigmas", {m});
  return {excess.data(), sigmas.data()};
}

}  // namespace

void bind_path(nb::module_& m) {
  m.def("dips_in_the_middle", [](Matrix<const double> sq_dist, Vector<const double> weight, Matrix<const int64_t> pairs,
                                 Vector<const double> gap, Matrix<const double> foot, double share, double half,
                                 double least_share, Vector<double> excess, Vector<double> sigmas) {
    const HeldOut rows = held_out(sq_dist, weight);
    const Segments segments = segments_of(pairs, gap, foot, rows.k);
    const Shortfalls out = shortfalls(excess, sigmas, segments.m);
    return unlocked([&] { return dips_in_the_middle(rows, segments, {share, 0.5 + half, least_share}, half, out); });
  }, "sq_dist"_in, "weight"_in, "pairs"_in, "gap"_in, "foot"_in, "share"_a, "half"_a, "least_share"_a, "excess"_in,
     "sigmas"_in);
  m.def("dips_somewhere", [](Matrix<const double> sq_dist, Vector<const double> weight,
                             Matrix<const double> training_sq_dist, Vector<const double> training_weight,
                             Matrix<const int64_t> pairs, Vector<const double> gap, Matrix<const double> foot,
                             double share, double reach, double least_share, Vector<const double> places, double half,
                             Vector<double> excess, Vector<double> sigmas) {
    const HeldOut rows = held_out(sq_dist, weight), training = held_out(training_sq_dist, training_weight);
    require(rows.k == training.k, "both must have distances to the same centres");
    const Segments segments = segments_of(pairs, gap, foot, rows.k);
    const Shortfalls out = shortfalls(excess, sigmas, segments.m);
    const Places windows = {places.data(), static_cast<int64_t>(places.shape(0)), half};
    require(windows.n_places > 0, "there must be a place");
    return unlocked(
        [&] { return dips_somewhere(rows, training, segments, {share, reach, least_share}, windows, out); });
  }, "sq_dist"_in, "weight"_in, "training_sq_dist"_in, "training_weight"_in, "pairs"_in, "gap"_in, "foot"_in, "share"_a,
     "reach"_a, "least_share"_a, "places"_in, "half"_a, "excess"_in, "sigmas"_in);
  m.def("neighbour_reach", [](Matrix<const double> sq_dist, int64_t nth, Vector<double> sq_reach) {
    const auto n = static_cast<int64_t>(sq_dist.shape(0)), m = static_cast<int64_t>(sq_dist.shape(1));
    require(nth > 0, "nth must be at least 1");
    require_shape(sq_reach, "sq_reach", {n});
    unlocked([&] { neighbour_reach(sq_dist.data(), n, m, nth, sq_reach.data()); });
  }, "sq_dist"_in, "nth"_a, "sq_reach"_in);
  m.def("median", [](Vector<const double> values) {
    const auto n = static_cast<int64_t>(values.shape(0));
    require(n > 0, "a median needs a value");
    return unlocked([&] { return median(values.data(), n); });
  }, "values"_in);
}

}  // namespace kfree::binding
