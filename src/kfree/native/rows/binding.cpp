// The Python binding of rows: arrays are taken as they are, or refused, and kept alive as long as the rows.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>

#include "core/binding.hpp"
#include "core/checks.hpp"
#include "core/isa.hpp"
#include "rows/finite.hpp"
#include "rows/interleave.hpp"

namespace kfree::binding {
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

// Parts begin where blocks do, so that their sums can be joined.
int64_t block_of(int64_t first_row) {
  if (first_row < 0 || first_row % BLOCK != 0)
    throw std::invalid_argument("first_row=" + std::to_string(first_row) + " must be a multiple of BLOCK=" +
                                std::to_string(BLOCK));
  return first_row / BLOCK;
}

template <class T>
HeldRows hold_dense(Strided<const T> X, Vector<const double> anchor, Vector<const double> shift, bool unit,
                    OptionalVector weight, const std::string& isa, int64_t first_row) {
  require_shape(anchor, "anchor", {static_cast<int64_t>(X.shape(1))});
  require_shape(shift, "shift", {static_cast<int64_t>(X.shape(1))});
  if (weight) require_shape(*weight, "weight", {static_cast<int64_t>(X.shape(0))});
  HeldRows held;
  held.owners.push_back(owner(X));
  if (weight) held.owners.push_back(owner(*weight));
  const Ranker& ranker = ranker_named(isa);
  held.rows = unlocked([&] {
    return dense_rows<T>(X.data(), X.shape(0), X.shape(1), X.stride(0), X.stride(1), values(anchor),
                                values(shift), unit, pointer(weight), block_of(first_row), ranker);
  });
  return held;
}

template <class T, class I>
HeldRows hold_csr(Vector<const T> data, Vector<const I> indices, Vector<const I> indptr, int64_t n_features, bool unit,
                  OptionalVector weight, int64_t first_row) {
  const auto n_rows = static_cast<int64_t>(indptr.shape(0)) - 1, n_stored = static_cast<int64_t>(data.shape(0));
  require(n_rows >= 0 && indptr(0) == 0 && indptr(n_rows) <= n_stored,
          "indptr must rise from 0 to the number of stored values");
  require_shape(indices, "indices", {n_stored});
  if (weight) require_shape(*weight, "weight", {n_rows});
  HeldRows held;
  held.owners = {owner(data), owner(indices), owner(indptr)};
  if (weight) held.owners.push_back(owner(*weight));
  held.rows = unlocked([&] {
    return csr_rows<T, I>(data.data(), indices.data(), indptr.data(), n_rows, n_features, unit, pointer(weight),
                          block_of(first_row));
  });
  return held;
}

template <class T>
bool interleave_columns(const std::vector<nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>>& columns, Matrix<T> X) {
  const auto n = static_cast<int64_t>(X.shape(0));
  require_shape(X, "X", {n, static_cast<int64_t>(columns.size())});
  std::vector<Column<T>> found;
  for (const auto& column : columns) {
    require_shape(column, "columns", {n});
    found.push_back({column.data(), column.stride(0)});
  }
  return unlocked([&] { return interleave(found, n, X.data()); });
}

template <class T>
bool is_all_finite(Strided<const T> X, int n_threads) {
  return unlocked([&] {
    return all_finite<T>(X.data(), X.shape(0), X.shape(1), X.stride(0), X.stride(1), n_threads);
  });
}

}  // namespace

void bind_rows(nb::module_& m) {
  m.attr("BLOCK") = BLOCK;
  m.def("parallel_seconds", &parallel_seconds);

  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const auto& set : instruction_sets()) names.push_back(set.name);
    return names;
  });

  nb::class_<HeldRows>(m, "Rows")
      .def_prop_ro("shape", [](const HeldRows& r) { return nb::make_tuple(r.rows->n, r.rows->d); })
      .def_prop_ro("nodes", [](const HeldRows& r) {
        nb::list nodes;
        for (const TreeNode& node : r.rows->nodes()) nodes.append(nb::make_tuple(node.level, node.index));
        return nodes;
      })
      .def_prop_ro("lengths", [](nb::handle self) {
        const auto& lengths = nb::cast<HeldRows&>(self).rows->lengths();
        return nb::ndarray<nb::numpy, const double, nb::ndim<1>>(lengths.data(), {lengths.size()}, self);
      }, nb::rv_policy::reference_internal);

#define KFREE_DENSE(T)                                                                                        \
  m.def("dense_rows", &hold_dense<T>, "X"_in, "anchor"_in, "shift"_in, "unit"_a, "weight"_in.none(), "isa"_a, \
        "first_row"_a = 0)
  KFREE_DENSE(float);
  KFREE_DENSE(double);

#define KFREE_CSR(T, I)                                                                              \
  m.def("csr_rows", &hold_csr<T, I>, "data"_in, "indices"_in, "indptr"_in, "n_features"_a, "unit"_a, \
        "weight"_in.none(), "first_row"_a = 0)
  KFREE_CSR(float, int32_t);
  KFREE_CSR(float, int64_t);
  KFREE_CSR(double, int32_t);
  KFREE_CSR(double, int64_t);

  m.def("interleave", &interleave_columns<float>, "columns"_in, "X"_in);
  m.def("interleave", &interleave_columns<double>, "columns"_in, "X"_in);

  m.def("all_finite", &is_all_finite<float>, "X"_in, "n_threads"_a);
  m.def("all_finite", &is_all_finite<double>, "X"_in, "n_threads"_a);

  m.def("copy", [](const HeldRows& r, Vector<const int64_t> index, Matrix<double> z) {
    require_shape(z, "z", {static_cast<int64_t>(index.shape(0)), r.rows->d});
    for (size_t i = 0; i < index.shape(0); ++i) r.rows->copy(index(i), z.data() + i * r.rows->d);
  }, "rows"_a, "index"_in, "z"_in);
}

}  // namespace kfree::binding
