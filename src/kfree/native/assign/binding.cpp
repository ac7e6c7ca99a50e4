// The Python binding of the passes that assign rows to sites: arrays in, arrays filled in place.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "assign/passes.hpp"
#include "core/binding.hpp"
#include "rows/binding.hpp"

namespace kfree::binding {

namespace {

void require_as_many(const Bounds& bounds, const HeldRows& r) {
  require(bounds.n_rows() == r.rows->n, "bounds must be those of as many rows");
}

}  // namespace

void bind_assign(nb::module_& m) {
  nb::class_<Bounds>(m, "Bounds")
      .def(nb::init<int64_t, int64_t, std::optional<bool>>(), "n_rows"_a, "parted_columns"_a = Bounds::PARTED_COLUMNS,
           "prefilter"_a = nb::none())
      .def("measured", [](const Bounds& self, Vector<const int64_t> row, Vector<const int32_t> cluster,
                          Matrix<const double> centres, Vector<double> sq_dist) {
        const auto k = static_cast<int64_t>(centres.shape(0)), d = static_cast<int64_t>(centres.shape(1));
        const RowList list = list_of(row, cluster);
        require_shape(sq_dist, "sq_dist", {list.n});
        return unlocked([&] { return self.measured(list, centres.data(), k, d, sq_dist.data()); });
      }, "row"_in, "cluster"_in, "centres"_in, "sq_dist"_in);

  m.def("nearest", [](const HeldRows& r, Matrix<const double> centres, Vector<const int64_t> uids, double lam,
                      int n_threads, Bounds& bounds, Vector<int32_t> label, Vector<double> sq_dist, Array n, Array sum,
                      Array sse, std::optional<Vector<bool>> far) {
    const auto k = static_cast<int64_t>(centres.shape(0));
    require_as_many(bounds, r);
    require_shape(uids, "uids", {k});
    require_per_row(r, label, sq_dist);
    const auto stats = stats_of(*r.rows, n, sum, sse, k);
    if (far) require_shape(*far, "far", {r.rows->n});
    return unlocked([&] {
      return nearest(*r.rows, sites_of(r, centres, n_threads), uids.data(), lam, n_threads, bounds, label.data(),
                            sq_dist.data(), stats, far ? far->data() : nullptr);
    });
  }, "rows"_a, "centres"_in, "uids"_in, "lam"_a, "n_threads"_a, "bounds"_a, "label"_in, "sq_dist"_in, "n"_in, "sum"_in,
     "sse"_in, "far"_in.none());

  m.def("k_means", [](const HeldRows& r, Matrix<double> centres, Vector<const int64_t> uids, double penalty,
                      int64_t max_passes, int n_threads, Bounds& bounds, Vector<int32_t> label, Vector<double> sq_dist,
                      Vector<double> n, Matrix<double> sum, Vector<double> sse) {
    const auto k = static_cast<int64_t>(centres.shape(0));
    require_shape(centres, "centres", {k, r.rows->d});
    require_as_many(bounds, r);
    require_shape(uids, "uids", {k});
    require_per_row(r, label, sq_dist);
    require_shape(n, "n", {k});
    require_shape(sum, "sum", {k, r.rows->d});
    require_shape(sse, "sse", {k});
    const Descent found = unlocked([&] {
      return k_means(*r.rows, k, centres.data(), uids.data(), penalty, max_passes, n_threads, bounds, label.data(),
                     sq_dist.data(), {k, n.data(), sum.data(), sse.data()});
    });
    return nb::make_tuple(found.n_passes, found.n_distances, found.converged, found.cost);
  }, "rows"_a, "centres"_in, "uids"_in, "penalty"_a, "max_passes"_a, "n_threads"_a, "bounds"_a, "label"_in,
     "sq_dist"_in, "n"_in, "sum"_in, "sse"_in);

  m.def("nearest_labels", [](const HeldRows& r, Matrix<const double> centres, Vector<const int32_t> numbers,
                             int n_threads, Vector<int32_t> label) {
    require_shape(numbers, "numbers", {static_cast<int64_t>(centres.shape(0))});
    require_shape(label, "label", {r.rows->n});
    return unlocked([&] {
      return nearest_labels(*r.rows, sites_of(r, centres, n_threads), numbers.data(), n_threads, label.data());
    });
  }, "rows"_a, "centres"_in, "numbers"_in, "n_threads"_a, "label"_in);

  m.def("accumulate", [](const HeldRows& r, Vector<const int32_t> label, Vector<const double> sq_dist, int n_threads,
                         Array n, Array sum, Array sse) {
    require_per_row(r, label, sq_dist);
    const auto stats = stats_of(*r.rows, n, sum, sse);
    unlocked([&] { accumulate(*r.rows, label.data(), sq_dist.data(), n_threads, stats); });
  }, "rows"_a, "label"_in, "sq_dist"_in, "n_threads"_a, "n"_in, "sum"_in, "sse"_in);

  m.def("fingerprints", [](const HeldRows& r, Vector<const int32_t> label, int n_threads, Vector<uint64_t> sum) {
    require_shape(label, "label", {r.rows->n});
    unlocked([&] { fingerprints(*r.rows, label.data(), sum.shape(0), n_threads, sum.data()); });
  }, "rows"_a, "label"_in, "n_threads"_a, "sum"_in);

  nb::class_<Masses>(m, "Masses")
      .def("__init__", [](Masses* self, Vector<const double> mass, int64_t block) {
        const auto n = static_cast<int64_t>(mass.shape(0));
        if (n == 0 || block < 1) throw nb::value_error("mass must have a number, and blocks a row");
        unlocked([&] { new (self) Masses(mass.data(), n, block); });
      }, nb::keep_alive<1, 2>(), "mass"_in, "block"_a = BLOCK)
      .def_prop_ro("total", &Masses::total)
      .def("rows_at", [](const Masses& self, const std::vector<double>& targets) {
        return unlocked([&] {
          std::vector<int64_t> rows;
          for (const double target : targets) rows.push_back(self.row_at(target));
          return rows;
        });
      }, "targets"_a);

  m.def("open_clusters", [](const HeldRows& r, Vector<const int64_t> far, int32_t first_label, double lam, int64_t room,
                            int n_threads, Vector<int32_t> label, Vector<double> sq_dist) {
    require_per_row(r, label, sq_dist);
    const Opened opened = unlocked([&] {
      return open_clusters(*r.rows, far.data(), far.shape(0), first_label, lam, room, n_threads, label.data(),
                          sq_dist.data());
    });
    return nb::make_tuple(array_of(opened.founders, {opened.founders.size()}), opened.n_refused);
  }, "rows"_a, "far"_in, "first_label"_a, "lam"_a, "room"_a, "n_threads"_a, "label"_in, "sq_dist"_in);

  m.def("join_newborn", [](const HeldRows& r, std::optional<Vector<const int64_t>> order, Matrix<const double> newborn,
                           Vector<const int64_t> born_at, int32_t first_label, int n_threads, Vector<int32_t> label,
                           Vector<double> sq_dist) {
    const auto n_born = static_cast<int64_t>(newborn.shape(0));
    require(n_born > 0, "newborn must have a row");
    if (order) require_shape(*order, "order", {r.rows->n});
    require_shape(born_at, "born_at", {n_born});
    require_per_row(r, label, sq_dist);
    unlocked([&] {
      join_newborn(*r.rows, order ? order->data() : nullptr, sites_of(r, newborn, n_threads), born_at.data(),
                   first_label, n_threads, label.data(), sq_dist.data());
    });
  }, "rows"_a, "order"_in.none(), "newborn"_in, "born_at"_in, "first_label"_a, "n_threads"_a, "label"_in, "sq_dist"_in);

  m.def("approach", [](const HeldRows& r, Matrix<const double> site, int n_threads, Vector<double> sq_dist) {
    require_shape(site, "site", {1, r.rows->d});
    require_shape(sq_dist, "sq_dist", {r.rows->n});
    unlocked([&] { approach(*r.rows, sites_of(r, site, n_threads), n_threads, sq_dist.data()); });
  }, "rows"_a, "site"_in, "n_threads"_a, "sq_dist"_in);

  m.def("best_candidate", [](const HeldRows& r, Matrix<const double> candidates, Vector<const double> sq_dist,
                             int n_threads) {
    require(candidates.shape(0) > 0, "candidates must have a row");
    require_shape(sq_dist, "sq_dist", {r.rows->n});
    return unlocked([&] {
      return best_candidate(*r.rows, sites_of(r, candidates, n_threads), sq_dist.data(), n_threads);
    });
  }, "rows"_a, "candidates"_in, "sq_dist"_in, "n_threads"_a);

  m.def("distances_to_own", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                               Matrix<const double> centres, int n_threads, Vector<double> sq_dist) {
    const RowList list = list_of(row, cluster);
    require_shape(sq_dist, "sq_dist", {list.n});
    unlocked([&] { distances_to_own(*r.rows, list, sites_of(r, centres, n_threads), n_threads, sq_dist.data()); });
  }, "rows"_a, "row"_in, "cluster"_in, "centres"_in, "n_threads"_a, "sq_dist"_in);

  m.def("distances", [](const HeldRows& r, Matrix<const double> centres, int n_threads, Matrix<double> sq_dist) {
    require_shape(sq_dist, "sq_dist", {r.rows->n, static_cast<int64_t>(centres.shape(0))});
    unlocked([&] { distances(*r.rows, sites_of(r, centres, n_threads), n_threads, sq_dist.data()); });
  }, "rows"_a, "centres"_in, "n_threads"_a, "sq_dist"_in);
}

}  // namespace kfree::binding
