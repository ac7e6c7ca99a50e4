// The Python binding of quadratic costs and of the kd-tree; reference implementation: reference/quadratic.py.
#include "core/binding.hpp"
#include "core/checks.hpp"
#include "quadratic/kdtree.hpp"
#include "quadratic/quadratic.hpp"

namespace kfree::binding {
namespace {

template <class T>
using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using In2 = Matrix<const double>;

Quadratics quadratics(const In2& rows, const In2& centre, const Cube<const double>& factor,
                      const Vector<const double>& offset) {
  const auto k = static_cast<int64_t>(centre.shape(0)), d = static_cast<int64_t>(rows.shape(1));
  require_shape(centre, "centre", {k, d});
  require_shape(factor, "factor", {k, d, d});
  require_shape(offset, "offset", {k});
  return {centre.data(), factor.data(), offset.data(), k, d};
}

MomentsOut moments_out(const In2& rows, Vector<double>& n, Matrix<double>& sum, Cube<double>& scatter) {
  const auto k = static_cast<int64_t>(n.shape(0)), d = static_cast<int64_t>(rows.shape(1));
  require_shape(sum, "sum", {k, d});
  require_shape(scatter, "scatter", {k, d, d});
  return {n.data(), sum.data(), scatter.data(), k, d};
}

}  // namespace

void bind_quadratic(nb::module_& m) {
  m.def("cheapest", [](In2 rows, In2 centre, Cube<const double> factor, Vector<const double> offset, int n_threads,
                       Vector<int32_t> label) {
    const Quadratics q = quadratics(rows, centre, factor, offset);
    require_shape(label, "label", {static_cast<int64_t>(rows.shape(0))});
    unlocked([&] { cheapest(rows.data(), rows.shape(0), q, n_threads, label.data()); });
  }, "rows"_in, "centre"_in, "factor"_in, "offset"_in, "n_threads"_a, "label"_in);
  m.def("moments", [](In2 rows, Vector<const int32_t> label, int n_threads, Vector<double> n, Matrix<double> sum,
                      Cube<double> scatter) {
    const MomentsOut out = moments_out(rows, n, sum, scatter);
    require_shape(label, "label", {static_cast<int64_t>(rows.shape(0))});
    unlocked([&] { moments(rows.data(), rows.shape(0), label.data(), n_threads, out); });
  }, "rows"_in, "label"_in, "n_threads"_a, "n"_in, "sum"_in, "scatter"_in);
  nb::class_<KdTree>(m, "KdTree")
      .def("__init__",
           [](KdTree* self, In2 rows, int64_t leaf_size) {
             unlocked([&] { new (self) KdTree(rows.data(), rows.shape(0), rows.shape(1), leaf_size); });
           },
           "rows"_in, "leaf_size"_a)
      .def_prop_ro("order",
                   [](const KdTree& tree) {
                     return nb::ndarray<nb::numpy, const int64_t>(tree.order().data(), {tree.order().size()}).cast();
                   })
      .def("assign",
           [](const KdTree& tree, In2 rows, In2 centre, Cube<const double> factor, Vector<const double> offset,
              int n_threads, Vector<int32_t> label, Vector<double> n, Matrix<double> sum, Cube<double> scatter) {
             require_shape(rows, "rows", {static_cast<int64_t>(tree.order().size()), tree.d()});
             require_shape(label, "label", {static_cast<int64_t>(rows.shape(0))});
             const Quadratics q = quadratics(rows, centre, factor, offset);
             const MomentsOut out = moments_out(rows, n, sum, scatter);
             return unlocked([&] { return tree.assign(rows.data(), q, n_threads, label.data(), out); });
           },
           "rows"_in, "centre"_in, "factor"_in, "offset"_in, "n_threads"_a, "label"_in, "n"_in, "sum"_in, "scatter"_in);
}

}  // namespace kfree::binding
