// The Python face of the passes: arrays in, arrays filled in place. No strings, no randomness, no hidden copies:
// every array argument is taken as it is (noconvert) or refused.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include <nanobind/stl/optional.h>

#include "core/binding.hpp"
#include "core/checks.hpp"
#include "core/isa.hpp"
#include "assign/passes.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using kfree::binding::HeldRows;
using kfree::binding::Matrix;
using kfree::binding::unlocked;
using kfree::binding::Vector;

namespace {

template <class T>
using Strided = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
using OptionalVector = std::optional<Vector<const double>>;

template <class Array>
nb::object owner(const Array& array) {
  return nb::cast(array);
}

const double* pointer(const OptionalVector& vector) { return vector ? vector->data() : nullptr; }

std::vector<double> values(const Vector<const double>& v) { return {v.data(), v.data() + v.shape(0)}; }

template <class T>
HeldRows dense_rows(Strided<const T> X, Vector<const double> anchor, Vector<const double> shift, bool unit,
                    OptionalVector weight, const std::string& isa) {
  kfree::binding::require_shape(anchor, "anchor", {static_cast<int64_t>(X.shape(1))});
  kfree::binding::require_shape(shift, "shift", {static_cast<int64_t>(X.shape(1))});
  if (weight) kfree::binding::require_shape(*weight, "weight", {static_cast<int64_t>(X.shape(0))});
  HeldRows held;
  held.owners.push_back(owner(X));
  if (weight) held.owners.push_back(owner(*weight));
  const kfree::Ranker& ranker = kfree::ranker_named(isa);
  held.rows = unlocked([&] {
    return kfree::dense_rows<T>(X.data(), X.shape(0), X.shape(1), X.stride(0), X.stride(1), values(anchor),
                                values(shift), unit, pointer(weight), ranker);
  });
  return held;
}

template <class T, class I>
HeldRows csr_rows(Vector<const T> data, Vector<const I> indices, Vector<const I> indptr, int64_t n_features, bool unit,
                  OptionalVector weight) {
  const auto n_rows = static_cast<int64_t>(indptr.shape(0)) - 1, n_stored = static_cast<int64_t>(data.shape(0));
  kfree::binding::require(n_rows >= 0 && indptr(0) == 0 && indptr(n_rows) <= n_stored,
                          "indptr must rise from 0 to the number of stored values");
  kfree::binding::require_shape(indices, "indices", {n_stored});
  if (weight) kfree::binding::require_shape(*weight, "weight", {n_rows});
  HeldRows held;
  held.owners = {owner(data), owner(indices), owner(indptr)};
  if (weight) held.owners.push_back(owner(*weight));
  held.rows = unlocked([&] {
    return kfree::csr_rows<T, I>(data.data(), indices.data(), indptr.data(), n_rows, n_features, unit,
                                 pointer(weight));
  });
  return held;
}

bool python_interrupt() {
  nb::gil_scoped_acquire acquire;
  return PyErr_CheckSignals() != 0;
}

kfree::Sites sites_of(const Matrix<const double>& centres) {
  return kfree::Sites(centres.data(), centres.shape(0), centres.shape(1));
}

// Centres that rows are held against have as many columns.
void require_columns(const HeldRows& r, const Matrix<const double>& centres) {
  kfree::binding::require_shape(centres, "centres", {static_cast<int64_t>(centres.shape(0)), r.rows->d});
}

kfree::StatsOut stats_of(Vector<double>& n, Matrix<double>& sum, Vector<double>& sse) {
  return {static_cast<int64_t>(n.shape(0)), n.data(), sum.data(), sse.data()};
}

kfree::RowList list_of(Vector<const int64_t>& row, Vector<const int32_t>& cluster) {
  return {row.data(), cluster.data(), static_cast<int64_t>(row.shape(0))};
}

auto as_array(std::vector<int64_t>&& list) {
  auto* kept = new std::vector<int64_t>(std::move(list));
  nb::capsule free(kept, [](void* p) noexcept { delete static_cast<std::vector<int64_t>*>(p); });
  return nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>(kept->data(), {kept->size()}, free);
}

}  // namespace

NB_MODULE(_core, m) {
  kfree::interrupt_requested = python_interrupt;

  m.attr("BLOCK") = kfree::BLOCK;

  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const auto& set : kfree::instruction_sets()) names.push_back(set.name);
    return names;
  });

  nb::class_<HeldRows>(m, "Rows")
      .def_prop_ro("shape", [](const HeldRows& r) { return nb::make_tuple(r.rows->n, r.rows->d); })
      .def_prop_ro("lengths", [](nb::handle self) {
        const auto& lengths = nb::cast<HeldRows&>(self).rows->lengths();
        return nb::ndarray<nb::numpy, const double, nb::ndim<1>>(lengths.data(), {lengths.size()}, self);
      }, nb::rv_policy::reference_internal);

#define KFREE_DENSE(T)                                                                             \
  m.def("dense_rows", &dense_rows<T>, "X"_a.noconvert(), "anchor"_a.noconvert(), "shift"_a.noconvert(), "unit"_a, \
        "weight"_a.noconvert().none(), "isa"_a)
  KFREE_DENSE(float);
  KFREE_DENSE(double);

#define KFREE_CSR(T, I)                                                                                      \
  m.def("csr_rows", &csr_rows<T, I>, "data"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), \
        "n_features"_a, "unit"_a, "weight"_a.noconvert().none())
  KFREE_CSR(float, int32_t);
  KFREE_CSR(float, int64_t);
  KFREE_CSR(double, int32_t);
  KFREE_CSR(double, int64_t);

  m.def("copy", [](const HeldRows& r, Vector<const int64_t> index, Matrix<double> z) {
    for (size_t i = 0; i < index.shape(0); ++i) r.rows->copy(index(i), z.data() + i * r.rows->d);
  }, "rows"_a, "index"_a.noconvert(), "z"_a.noconvert());

  nb::class_<kfree::Bounds>(m, "Bounds")
      .def(nb::init<int64_t, int64_t, int64_t>(), "n_rows"_a, "parted_columns"_a = kfree::Bounds::PARTED_COLUMNS,
           "prefiltered_columns"_a = kfree::Bounds::PREFILTERED_COLUMNS);

  m.def("nearest", [](const HeldRows& r, Matrix<const double> centres, Vector<const int64_t> uids, double lam,
                      int n_threads, kfree::Bounds& bounds, Vector<int32_t> label, Vector<double> sq_dist,
                      Vector<double> n, Matrix<double> sum, Vector<double> sse, std::optional<Vector<bool>> far) {
    require_columns(r, centres);
    const auto stats = stats_of(n, sum, sse);
    return unlocked([&] {
      return kfree::nearest(*r.rows, sites_of(centres), uids.data(), lam, n_threads, bounds, label.data(),
                            sq_dist.data(), stats, far ? far->data() : nullptr);
    });
  }, "rows"_a, "centres"_a.noconvert(), "uids"_a.noconvert(), "lam"_a, "n_threads"_a, "bounds"_a,
     "label"_a.noconvert(), "sq_dist"_a.noconvert(), "n"_a.noconvert(), "sum"_a.noconvert(), "sse"_a.noconvert(),
     "far"_a.noconvert().none());

  m.def("accumulate", [](const HeldRows& r, Vector<const int32_t> label, Vector<const double> sq_dist, int n_threads,
                         Vector<double> n, Matrix<double> sum, Vector<double> sse) {
    const auto stats = stats_of(n, sum, sse);
    unlocked([&] { kfree::accumulate(*r.rows, label.data(), sq_dist.data(), n_threads, stats); });
  }, "rows"_a, "label"_a.noconvert(), "sq_dist"_a.noconvert(), "n_threads"_a, "n"_a.noconvert(), "sum"_a.noconvert(),
     "sse"_a.noconvert());

  m.def("open_clusters", [](const HeldRows& r, Vector<const int64_t> far, int32_t first_label, double lam, int64_t room,
                    int n_threads, Vector<int32_t> label, Vector<double> sq_dist) {
    auto opened = unlocked([&] {
      return kfree::open_clusters(*r.rows, far.data(), far.shape(0), first_label, lam, room, n_threads, label.data(),
                          sq_dist.data());
    });
    return nb::make_tuple(as_array(std::move(opened.founders)), opened.n_refused);
  }, "rows"_a, "far"_a.noconvert(), "first_label"_a, "lam"_a, "room"_a, "n_threads"_a, "label"_a.noconvert(),
     "sq_dist"_a.noconvert());

  m.def("join_newborn", [](const HeldRows& r, std::optional<Vector<const int64_t>> order, Matrix<const double> newborn,
                    Vector<const int64_t> born_at, int32_t first_label, int n_threads, Vector<int32_t> label,
                    Vector<double> sq_dist) {
    unlocked([&] {
      kfree::join_newborn(*r.rows, order ? order->data() : nullptr, sites_of(newborn), born_at.data(), first_label, n_threads,
                   label.data(), sq_dist.data());
    });
  }, "rows"_a, "order"_a.noconvert().none(), "newborn"_a.noconvert(), "born_at"_a.noconvert(), "first_label"_a,
     "n_threads"_a, "label"_a.noconvert(), "sq_dist"_a.noconvert());

  m.def("approach", [](const HeldRows& r, Matrix<const double> site, int n_threads, Vector<double> sq_dist) {
    unlocked([&] { kfree::approach(*r.rows, sites_of(site), n_threads, sq_dist.data()); });
  }, "rows"_a, "site"_a.noconvert(), "n_threads"_a, "sq_dist"_a.noconvert());

  m.def("best_candidate", [](const HeldRows& r, Matrix<const double> candidates, Vector<const double> sq_dist,
                             int n_threads) {
    return unlocked([&] { return kfree::best_candidate(*r.rows, sites_of(candidates), sq_dist.data(), n_threads); });
  }, "rows"_a, "candidates"_a.noconvert(), "sq_dist"_a.noconvert(), "n_threads"_a);

  m.def("choose", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                     Matrix<const double> centres, int n_threads, Vector<int32_t> label, Vector<double> n,
                     Matrix<double> sum, Vector<double> sse) {
    const auto stats = stats_of(n, sum, sse);
    unlocked([&] {
      kfree::choose(*r.rows, list_of(row, cluster), sites_of(centres), n_threads, label.data(), stats);
    });
  }, "rows"_a, "row"_a.noconvert(), "cluster"_a.noconvert(), "centres"_a.noconvert(), "n_threads"_a,
     "label"_a.noconvert(), "n"_a.noconvert(), "sum"_a.noconvert(), "sse"_a.noconvert());

  m.def("scatter_product", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                   Matrix<const double> centres, int n_threads, Vector<double> n, Matrix<double> sum,
                   Vector<double> sse) {
    const auto stats = stats_of(n, sum, sse);
    unlocked([&] { kfree::scatter_product(*r.rows, list_of(row, cluster), sites_of(centres), n_threads, stats); });
  }, "rows"_a, "row"_a.noconvert(), "cluster"_a.noconvert(), "centres"_a.noconvert(), "n_threads"_a,
     "n"_a.noconvert(), "sum"_a.noconvert(), "sse"_a.noconvert());

  m.def("second_nearest", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                     Matrix<const double> centres, int n_threads, Vector<int32_t> rival, Vector<double> sq_dist) {
    unlocked([&] {
      kfree::second_nearest(*r.rows, list_of(row, cluster), sites_of(centres), n_threads, rival.data(), sq_dist.data());
    });
  }, "rows"_a, "row"_a.noconvert(), "cluster"_a.noconvert(), "centres"_a.noconvert(), "n_threads"_a,
     "rival"_a.noconvert(), "sq_dist"_a.noconvert());

  m.def("distances_to_own", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> cluster,
                   Matrix<const double> centres, int n_threads, Vector<double> sq_dist) {
    unlocked([&] { kfree::distances_to_own(*r.rows, list_of(row, cluster), sites_of(centres), n_threads, sq_dist.data()); });
  }, "rows"_a, "row"_a.noconvert(), "cluster"_a.noconvert(), "centres"_a.noconvert(), "n_threads"_a,
     "sq_dist"_a.noconvert());

  m.def("exchange", [](const HeldRows& r, Vector<const int64_t> row, Vector<const int32_t> other,
                       Matrix<const double> centres, double least_gain, int n_threads, Vector<int32_t> label,
                       Vector<double> n, Matrix<double> sum, Vector<double> sse) {
    const auto stats = stats_of(n, sum, sse);
    return unlocked([&] {
      return kfree::exchange(*r.rows, list_of(row, other), sites_of(centres), least_gain, n_threads, label.data(),
                             stats);
    });
  }, "rows"_a, "row"_a.noconvert(), "other"_a.noconvert(), "centres"_a.noconvert(), "least_gain"_a, "n_threads"_a,
     "label"_a.noconvert(), "n"_a.noconvert(), "sum"_a.noconvert(), "sse"_a.noconvert());

  m.def("distances", [](const HeldRows& r, Matrix<const double> centres, int n_threads, Matrix<double> sq_dist) {
    require_columns(r, centres);
    unlocked([&] { kfree::distances(*r.rows, sites_of(centres), n_threads, sq_dist.data()); });
  }, "rows"_a, "centres"_a.noconvert(), "n_threads"_a, "sq_dist"_a.noconvert());

  kfree::binding::bind_online(m);
  kfree::binding::bind_cut(m);
  kfree::binding::bind_agglomerate(m);
  kfree::binding::bind_quadratic(m);
  kfree::binding::bind_hdp(m);
}
