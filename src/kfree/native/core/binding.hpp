// Shared by the parts of the binding: array types that refuse conversions, rows with their owners, the released lock.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "core/parallel.hpp"
#include "rows/rows.hpp"

namespace kfree::binding {

namespace nb = nanobind;
using namespace nb::literals;

// The name of an array argument, which is taken as it is or refused.
inline auto operator""_in(const char* name, size_t) { return nb::arg(name).noconvert(); }

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
using Owned = nb::ndarray<nb::numpy, T>;

// A copy that Python owns.
template <class T, class Allocator>
Owned<T> array_of(const std::vector<T, Allocator>& values, std::initializer_list<size_t> shape) {
  auto* kept = new std::vector<T>(values.begin(), values.end());
  nb::capsule free(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Owned<T>(kept->data(), shape, free);
}

// The rows, and the Python arrays whose memory they read.
struct HeldRows {
  std::unique_ptr<Rows> rows;
  std::vector<nb::object> owners;
};

// Runs without the interpreter lock; an interrupt becomes the exception that Python has already set.
template <class Work>
auto unlocked(Work work) {
  try {
    nb::gil_scoped_release release;
    return work();
  } catch (const Interrupted&) {
    throw nb::python_error();
  }
}

// Runs without the interpreter lock and passes a callback that is called now and then.
template <class Work>
int64_t interruptible(Work work) {
  return unlocked([&] {
    int64_t result = 0;
    Blocks(1).run_alone([&](Worker& worker) {
      while (worker.next() >= 0) result = work([&] { return worker.go_on(); });
    });
    return result;
  });
}

// One for each folder, with its name.
void bind_rows(nb::module_& m);
void bind_assign(nb::module_& m);
void bind_moves(nb::module_& m);
void bind_stream(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_quadratic(nb::module_& m);
void bind_groups(nb::module_& m);
void bind_samplers(nb::module_& m);
void bind_path(nb::module_& m);

}  // namespace kfree::binding
