// The Python binding of the passes for moves: splitting, pruning, exchanging.
#include <nanobind/stl/optional.h>

#include "assign/passes.hpp"
#include "core/binding.hpp"
#include "rows/binding.hpp"

namespace kfree::binding {

namespace {

// What an exchange changes: labels of all rows, and clusters.
template <class Label>
MovingClusters clusters_of(const Rows& rows, const Label& label, Vector<double>& n, Matrix<double>& sum,
                           Matrix<double>& centres, Vector<double>& path_length) {
  const auto k = static_cast<int64_t>(n.shape(0));
  require_shape(label, "label", {rows.n});
  require_shape(sum, "sum", {k, rows.d});
  require_shape(centres, "centres", {k, rows.d});
  require_shape(path_length, "path_length", {k});
  return {k, n.data(), sum.data(), centres.data(), path_length.data()};
}

}  // namespace

void bind_moves(nb::module_& m) {
  m.def("choose", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                     Matrix<const double> centres, int n_threads, Vector<int32_t> label, Array n, Array sum,
                     Array sse) {
    const RowList list = list_of(row, cluster);
    require_shape(label, "label", {list.n});
    const auto stats = stats_of(*r.rows, n, sum, sse, centres.shape(0));
    unlocked([&] { choose(*r.rows, list, sites_of(r, centres, n_threads), n_threads, label.data(), stats); });
  }, "rows"_a, "row"_in, "cluster"_in, "centres"_in, "n_threads"_a, "label"_in, "n"_in, "sum"_in, "sse"_in);

  m.def("scatter_product", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                              Matrix<const double> centres, int n_threads, Array n, Array sum, Array sse) {
    const RowList list = list_of(row, cluster);
    const auto stats = stats_of(*r.rows, n, sum, sse, centres.shape(0) / 2);
    unlocked([&] { scatter_product(*r.rows, list, sites_of(r, centres, n_threads), n_threads, stats); });
  }, "rows"_a, "row"_in, "cluster"_in, "centres"_in, "n_threads"_a, "n"_in, "sum"_in, "sse"_in);

  m.def("second_nearest", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                             Matrix<const double> centres, int n_threads, Vector<int32_t> second,
                             Vector<double> sq_dist) {
    const RowList list = list_of(row, cluster);
    require_shape(second, "second", {list.n});
    require_shape(sq_dist, "sq_dist", {list.n});
    unlocked([&] {
      second_nearest(*r.rows, list, sites_of(r, centres, n_threads), n_threads, second.data(), sq_dist.data());
    });
  }, "rows"_a, "row"_in, "cluster"_in, "centres"_in, "n_threads"_a, "second"_in, "sq_dist"_in);

  m.def("deletion_costs", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                             Vector<const int32_t> second, Matrix<const double> centres, int n_threads,
                             Vector<double> cost) {
    const RowList list = list_of(row, cluster);
    require_shape(second, "second", {list.n});
    require_shape(cost, "cost", {static_cast<int64_t>(centres.shape(0))});
    unlocked([&] {
      deletion_costs(*r.rows, list, second.data(), sites_of(r, centres, n_threads), n_threads, cost.data());
    });
  }, "rows"_a, "row"_in, "cluster"_in, "second"_in, "centres"_in, "n_threads"_a, "cost"_in);

  nb::class_<Exchange>(m, "Exchange")
      .def("__init__", [](Exchange* self, const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> other,
                          double least_gain, int n_threads, Vector<const int32_t> label, Vector<double> n,
                          Matrix<double> sum, Matrix<double> centres, Vector<double> path_length) {
        const auto clusters = clusters_of(*r.rows, label, n, sum, centres, path_length);
        const RowList list = list_of(row, other, "other");
        unlocked([&] { new (self) Exchange(*r.rows, list, least_gain, n_threads, label.data(), clusters); });
      }, nb::keep_alive<1, 2>(), "rows"_a, "row"_in, "other"_in, "least_gain"_a, "n_threads"_a,
         "label"_in, "n"_in, "sum"_in, "centres"_in, "path_length"_in)
      .def("round", [](Exchange& self, Vector<int32_t> label, Vector<double> n, Matrix<double> sum,
                       Matrix<double> centres, Vector<double> path_length) {
        const auto clusters = clusters_of(self.rows(), label, n, sum, centres, path_length);
        return unlocked([&] { return self.round(clusters, label.data()); });
      }, "label"_in, "n"_in, "sum"_in, "centres"_in, "path_length"_in);
}

}  // namespace kfree::binding
