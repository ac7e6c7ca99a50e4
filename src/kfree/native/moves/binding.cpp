// The Python face of the passes for moves: splitting, pruning, exchanging.
#include <nanobind/stl/optional.h>

#include "assign/passes.hpp"
#include "core/binding.hpp"
#include "rows/binding.hpp"

namespace kfree::binding {

void bind_moves(nb::module_& m) {
  m.def("choose", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                     Matrix<const double> centres, int n_threads, Vector<int32_t> label, Array n,
                     Array sum, Array sse) {
    const auto stats = stats_of(*r.rows, n, sum, sse);
    unlocked([&] {
      choose(*r.rows, list_of(row, cluster), sites_of(centres, n_threads), n_threads, label.data(), stats);
    });
  }, "rows"_a, "row"_a.noconvert(), "cluster"_a.noconvert(), "centres"_a.noconvert(), "n_threads"_a,
     "label"_a.noconvert(), "n"_a.noconvert(), "sum"_a.noconvert(), "sse"_a.noconvert());

  m.def("scatter_product", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                   Matrix<const double> centres, int n_threads, Array n, Array sum, Array sse) {
    const auto stats = stats_of(*r.rows, n, sum, sse);
    unlocked([&] { scatter_product(*r.rows, list_of(row, cluster), sites_of(centres, n_threads), n_threads, stats); });
  }, "rows"_a, "row"_a.noconvert(), "cluster"_a.noconvert(), "centres"_a.noconvert(), "n_threads"_a,
     "n"_a.noconvert(), "sum"_a.noconvert(), "sse"_a.noconvert());

  m.def("second_nearest", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                     Matrix<const double> centres, int n_threads, Vector<int32_t> rival, Vector<double> sq_dist) {
    unlocked([&] {
      second_nearest(*r.rows, list_of(row, cluster), sites_of(centres, n_threads), n_threads, rival.data(), sq_dist.data());
    });
  }, "rows"_a, "row"_a.noconvert(), "cluster"_a.noconvert(), "centres"_a.noconvert(), "n_threads"_a,
     "rival"_a.noconvert(), "sq_dist"_a.noconvert());

  m.def("exchange", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> other,
                       Matrix<const double> centres, double least_gain, int n_threads, Vector<int32_t> label,
                       Array n, Array sum, Array sse) {
    const auto stats = stats_of(*r.rows, n, sum, sse);
    return unlocked([&] {
      return exchange(*r.rows, list_of(row, other), sites_of(centres, n_threads), least_gain, n_threads, label.data(),
                             stats);
    });
  }, "rows"_a, "row"_a.noconvert(), "other"_a.noconvert(), "centres"_a.noconvert(), "least_gain"_a, "n_threads"_a,
     "label"_a.noconvert(), "n"_a.noconvert(), "sum"_a.noconvert(), "sse"_a.noconvert());
}

}  // namespace kfree::binding
