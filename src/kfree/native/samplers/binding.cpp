// The Python binding of the samplers; reference implementation: reference/samplers.py.
#include <algorithm>
#include <utility>

#include "core/binding.hpp"
#include "core/checks.hpp"
#include "samplers/collapsed.hpp"
#include "samplers/spherical.hpp"

namespace kfree::binding {
namespace {

Owned<double> per_cluster(const std::vector<double>& values, const std::vector<int64_t>& counts) {
  return array_of(values, {counts.size(), values.size() / counts.size()});
}

// One label per row, numbered without gaps: a slot without rows is free.
void require_labels(const Matrix<const double>& x, const Vector<const int32_t>& label) {
  require(x.shape(0) > 0 && x.shape(1) > 0, "x must have rows and columns");
  require_shape(label, "label", {static_cast<int64_t>(x.shape(0))});
  std::vector<bool> used(x.shape(0), false);
  int64_t k = 0;
  for (size_t i = 0; i < label.shape(0); ++i) {
    require(label.data()[i] >= 0 && label.data()[i] < static_cast<int64_t>(x.shape(0)), "label must lie within the rows");
    used[label.data()[i]] = true;
    k = std::max<int64_t>(k, label.data()[i] + 1);
  }
  require(std::count(used.begin(), used.end(), true) == k, "label must have no gaps");
}

// Labels and counts of a chain.
template <class Chain>
void with_clusters(nb::class_<Chain>& chain) {
  constexpr auto owned = nb::rv_policy::move;
  chain.def_prop_ro("labels", [](const Chain& c) { return array_of(c.labels(), {c.labels().size()}); }, owned)
      .def_prop_ro("counts", [](const Chain& c) { return array_of(c.counts(), {c.counts().size()}); }, owned);
}

}  // namespace

void bind_samplers(nb::module_& m) {
  constexpr auto owned = nb::rv_policy::move;
  auto spherical = nb::class_<SphericalChain>(m, "SphericalChain");
  spherical
      .def("__init__",
           [](SphericalChain* self, Matrix<const double> x, Vector<const int32_t> label, uint64_t seed, double sigma,
              double rho) {
             require_labels(x, label);
             new (self) SphericalChain(x.data(), x.shape(0), x.shape(1), label.data(), seed, sigma, rho);
           },
           "x"_in, "label"_in, "seed"_a, "sigma"_a, "rho"_a, nb::keep_alive<1, 2>())
      .def("sweep",
           [](SphericalChain& c, double log_alpha, double sigma, double rho) {
             unlocked([&] { c.sweep(log_alpha, sigma, rho); });
           },
           "log_alpha"_a, "sigma"_a, "rho"_a)
      .def_prop_ro("sums", [](const SphericalChain& c) { return per_cluster(c.sums(), c.counts()); }, owned)
      .def_prop_ro("sq_error", &SphericalChain::sq_error);
  with_clusters(spherical);

  auto collapsed = nb::class_<CollapsedChain>(m, "CollapsedChain");
  collapsed
      .def("__init__",
           [](CollapsedChain* self, Matrix<const double> x, Vector<const int32_t> label, uint64_t seed, double xi0,
              double eta0, Matrix<const double> B0, Vector<const double> at_centre) {
             const int64_t n = x.shape(0), d = x.shape(1);
             require_labels(x, label);
             require_shape(B0, "B0", {d, d});
             require_shape(at_centre, "at_centre", {n + 1});
             NormalWishart prior = {xi0, eta0, {B0.data(), B0.data() + B0.size()},
                                    {at_centre.data(), at_centre.data() + at_centre.size()}};
             new (self) CollapsedChain(x.data(), n, d, label.data(), seed, std::move(prior));
           },
           "x"_in, "label"_in, "seed"_a, "xi0"_a, "eta0"_a, "B0"_in, "at_centre"_in)
      .def("sweep", [](CollapsedChain& c, double log_alpha) { unlocked([&] { c.sweep(log_alpha); }); }, "log_alpha"_a);
  with_clusters(collapsed);
}

}  // namespace kfree::binding
