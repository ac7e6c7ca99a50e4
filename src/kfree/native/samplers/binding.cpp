// The Python face of the samplers; twins in reference/samplers.py.

#include "core/binding.hpp"
#include "samplers/collapsed.hpp"
#include "samplers/spherical.hpp"

using namespace nanobind::literals;

namespace kfree::binding {
namespace {

Array<double> per_cluster(const std::vector<double>& values, const std::vector<int64_t>& counts) {
  return array_of(values, {counts.size(), values.size() / counts.size()});
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
             new (self) SphericalChain(x.data(), x.shape(0), x.shape(1), label.data(), seed, sigma, rho);
           },
           "x"_a.noconvert(), "label"_a.noconvert(), "seed"_a, "sigma"_a, "rho"_a, nb::keep_alive<1, 2>())
      .def("sweep",
           [](SphericalChain& c, double log_alpha, double sigma, double rho) {
             unlocked([&] { c.sweep(log_alpha, sigma, rho); });
           },
           "log_alpha"_a, "sigma"_a, "rho"_a)
      .def_prop_ro("sums", [](const SphericalChain& c) { return per_cluster(c.sums(), c.counts()); }, owned)
      .def_prop_ro("means", [](const SphericalChain& c) { return per_cluster(c.means(), c.counts()); }, owned)
      .def_prop_ro("sq_error", &SphericalChain::sq_error);
  with_clusters(spherical);

  auto collapsed = nb::class_<CollapsedChain>(m, "CollapsedChain");
  collapsed
      .def("__init__",
           [](CollapsedChain* self, Matrix<const double> x, Vector<const int32_t> label, uint64_t seed, double xi0,
              double eta0, Matrix<const double> B0, Vector<const double> at_centre) {
             NormalWishart prior = {xi0, eta0, {B0.data(), B0.data() + B0.size()},
                                    {at_centre.data(), at_centre.data() + at_centre.size()}};
             new (self) CollapsedChain(x.data(), x.shape(0), x.shape(1), label.data(), seed, std::move(prior));
           },
           "x"_a.noconvert(), "label"_a.noconvert(), "seed"_a, "xi0"_a, "eta0"_a, "B0"_a.noconvert(),
           "at_centre"_a.noconvert(), nb::keep_alive<1, 2>())
      .def("sweep", [](CollapsedChain& c, double log_alpha) { unlocked([&] { c.sweep(log_alpha); }); }, "log_alpha"_a);
  with_clusters(collapsed);
}

}  // namespace kfree::binding
