// The Python face of a stream: an object that can be copied and pickled; its twin is Stream in reference/online.py.
#include <limits>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "core/binding.hpp"
#include "stream/online.hpp"

namespace kfree::binding {
namespace {

template <class T>
using Array = nb::ndarray<nb::numpy, T>;

// A copy that Python owns.
template <class T, class Allocator>
Array<T> array_of(const std::vector<T, Allocator>& values, std::initializer_list<size_t> shape) {
  auto* kept = new std::vector<T>(values.begin(), values.end());
  nb::capsule free(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(kept->data(), shape, free);
}

// What comes back from a pickle; it may lie in a read-only memory map.
template <class T>
using Stored = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> values_of(const Stored<T>& array) {
  return {array.data(), array.data() + array.size()};
}

Array<int64_t> array_of(const std::vector<Event>& events) {
  std::vector<int64_t> flat;
  for (const Event& e : events) flat.insert(flat.end(), {e.row, e.kind, e.id, e.other});
  return array_of(flat, {events.size(), 4});
}

StreamState start(int64_t n_features, double lam, bool split, std::optional<int64_t> max_clusters,
                  double growth_per_row, double lifetime) {
  StreamState state{.split = split,
                    .max_clusters = max_clusters.value_or(std::numeric_limits<int64_t>::max()),
                    .growth_per_row = growth_per_row,
                    .lifetime = lifetime,
                    .lam = lam,
                    .sites = Sites(n_features)};
  return state;
}

// Settings, what has changed since, the clusters, and the number of columns.
using Settings = std::tuple<bool, int64_t, double, double>;
using Counters = std::tuple<double, double, int64_t, int64_t, int64_t>;
template <template <class> class A>
using Pickled =
    std::tuple<Settings, Counters, A<int64_t>, A<int64_t>, A<double>, A<double>, A<double>, A<double>, int64_t>;

Pickled<Array> pickled(const Stream& stream) {
  const StreamState& s = stream.state;
  const size_t k = s.sites.k, d = s.sites.d, boxes = s.split ? k : 0;
  return {{s.split, s.max_clusters, s.growth_per_row, s.lifetime},
          {s.lam, s.growth, s.n_rows, s.n_counted, s.next_id},
          array_of(s.id, {k}),
          array_of(s.last, {k}),
          array_of(s.weight, {k}),
          array_of(s.sites.centre, {k, d}),
          array_of(s.low, {boxes, d}),
          array_of(s.high, {boxes, d}),
          s.sites.d};
}

void unpickle(Stream& stream, const Pickled<Stored>& from) {
  const auto& [settings, counters, id, last, weight, centre, low, high, d] = from;
  const auto& [split, max_clusters, growth_per_row, lifetime] = settings;
  StreamState s = start(d, 1.0, split, max_clusters, growth_per_row, lifetime);
  std::tie(s.lam, s.growth, s.n_rows, s.n_counted, s.next_id) = counters;
  s.id = values_of(id);
  s.last = values_of(last);
  s.weight = values_of(weight);
  s.sites = Sites(centre.data(), id.size(), d, 1);
  s.low = values_of(low);
  s.high = values_of(high);
  new (&stream) Stream(std::move(s));
}

}  // namespace

void bind_online(nb::module_& m) {
  constexpr auto owned = nb::rv_policy::move;
  nb::class_<Stream>(m, "Stream")
      .def("__init__",
           [](Stream* self, int64_t n_features, double lam, bool split, std::optional<int64_t> max_clusters,
              double growth_per_row, double lifetime) {
             new (self) Stream(start(n_features, lam, split, max_clusters, growth_per_row, lifetime));
           },
           "n_features"_a, "lam"_a, "split"_a, "max_clusters"_a.none(), "growth_per_row"_a, "lifetime"_a)
      .def("advance",
           [](Stream& s, const HeldRows& r, Vector<int64_t> joined) {
             return array_of(unlocked([&] { return s.advance(*r.rows, joined.data()); }));
           },
           "rows"_a, "joined"_a.noconvert())
      .def("merge", [](Stream& s) { return array_of(unlocked([&] { return s.merge(); })); })
      .def("copy", [](const Stream& s) { return Stream(s); })
      .def_prop_ro("lam", [](const Stream& s) { return s.state.lam; })
      .def_prop_ro("growth", [](const Stream& s) { return s.state.growth; })
      .def_prop_ro("n_rows", [](const Stream& s) { return s.state.n_rows; })
      .def_prop_ro("next_id", [](const Stream& s) { return s.state.next_id; })
      .def_prop_ro("ids", [](const Stream& s) { return array_of(s.state.id, {s.state.id.size()}); }, owned)
      .def_prop_ro("weights", [](const Stream& s) { return array_of(s.state.weight, {s.state.id.size()}); }, owned)
      .def_prop_ro("centres",
                   [](const Stream& s) {
                     const Sites& sites = s.state.sites;
                     return array_of(sites.centre, {static_cast<size_t>(sites.k), static_cast<size_t>(sites.d)});
                   },
                   owned)
      .def("__getstate__", &pickled)
      .def("__setstate__", &unpickle);
}

}  // namespace kfree::binding
