// The Python binding of what the lam path asks of distances; the twins are in reference/path.py.
#include <algorithm>

#include "core/binding.hpp"
#include "core/checks.hpp"
#include "path/between.hpp"
#include "path/reach.hpp"

namespace kfree::binding {

void bind_path(nb::module_& m) {
  m.def(
      "between",
      [](Matrix<const double> sq_dist, Vector<const int64_t> labels, Vector<const double> weight, int64_t a, int64_t b,
         double gap, double sq_gap, Vector<const double> foot, double share, double reach, double least_share) {
        const auto k = static_cast<int64_t>(sq_dist.shape(0)), n = static_cast<int64_t>(sq_dist.shape(1));
        require(0 <= a && a < k && 0 <= b && b < k, "a and b must be centres");
        require_shape(labels, "labels", {n});
        require_shape(weight, "weight", {n});
        require_shape(foot, "foot", {k});
        require(std::count(labels.data(), labels.data() + n, a) + std::count(labels.data(), labels.data() + n, b) > 1,
                "a and b must have rows");
        const auto found = unlocked([&] {
          return between({sq_dist.data(), labels.data(), weight.data(), k, n}, {a, b, gap, sq_gap, foot.data()}, share,
                         reach, least_share);
        });
        return nb::make_tuple(array_of(found.row, {found.row.size()}), array_of(found.place, {found.place.size()}));
      },
      "sq_dist"_a.noconvert(), "labels"_a.noconvert(), "weight"_a.noconvert(), "a"_a, "b"_a, "gap"_a, "sq_gap"_a,
      "foot"_a.noconvert(), "share"_a, "reach"_a, "least_share"_a);
  m.def(
      "neighbour_reach",
      [](Matrix<const double> sq_dist, int64_t nth, Vector<double> sq_reach) {
        const auto n = static_cast<int64_t>(sq_dist.shape(0)), m = static_cast<int64_t>(sq_dist.shape(1));
        require(nth > 0, "nth must be at least 1");
        require_shape(sq_reach, "sq_reach", {n});
        unlocked([&] { neighbour_reach(sq_dist.data(), n, m, nth, sq_reach.data()); });
      },
      "sq_dist"_a.noconvert(), "nth"_a, "sq_reach"_a.noconvert());
  m.def(
      "median",
      [](Vector<const double> values) {
        const auto n = static_cast<int64_t>(values.shape(0));
        require(n > 0, "a median needs a value");
        return unlocked([&] { return median(values.data(), n); });
      },
      "values"_a.noconvert());
}

}  // namespace kfree::binding
