// The Python binding of a stream: an object that can be copied and pickled; the reference implementation is Stream in
// reference/online.py.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "core/binding.hpp"
#include "core/checks.hpp"
#include "stream/online.hpp"

namespace kfree::binding {
namespace {

// What comes back from a pickle; it may lie in a read-only memory map.
template <class T>
using Stored = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> values_of(const Stored<T>& array) {
  return {array.data(), array.data() + array.size()};
}

Owned<int64_t> table_of(const std::vector<Event>& events) {
  std::vector<int64_t> flat;
  for (const Event& e : events) flat.insert(flat.end(), {e.row, e.kind, e.id, e.other});
  return array_of(flat, {events.size(), 4});
}

StreamState start(int64_t n_features, double lam, bool split, std::optional<int64_t> max_clusters,
                  double growth_per_row, double lifetime) {
  require(n_features > 0, "n_features must be positive");
  require(lam > 0 && std::isfinite(lam), "lam must be a finite number > 0");
  require(max_clusters.value_or(1) > 0, "max_clusters must be positive");
  require(growth_per_row >= 1 && growth_per_row <= 2, "growth_per_row must lie between 1 and 2");
  require(lifetime > 0, "lifetime must be positive");
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

Pickled<Owned> pickled(const Stream& stream) {
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

template <class Values>
bool all_finite(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

// What was stored may have been cut short or changed: everything that the passes rely on is checked.
void require_consistent(const StreamState& s) {
  require(s.growth >= 1 && s.growth <= 2, "growth must lie between 1 and 2");
  require(s.n_counted >= 0 && s.n_rows >= s.n_counted && s.next_id >= 0, "a stream counts its rows and ids from 0");
  require(all_finite(s.weight) && all_finite(s.sites.centre) && all_finite(s.low) && all_finite(s.high),
          "weights, centres and boxes of a stream must be finite");
  for (int64_t j = 0; j < s.sites.k; ++j) {
    require(s.weight[j] >= 0, "weights of a stream must not be negative");
    require(s.last[j] >= 0 && s.last[j] <= s.n_counted, "a row cannot have joined later than the last one");
    require(s.id[j] >= 0 && s.id[j] < s.next_id && (j == 0 || s.id[j - 1] < s.id[j]),
            "ids of a stream must rise and lie below the next one");
  }
}

void unpickle(Stream& stream, const Pickled<Stored>& from) {
  const auto& [settings, counters, id, last, weight, centre, low, high, d] = from;
  const auto& [split, max_clusters, growth_per_row, lifetime] = settings;
  const auto k = static_cast<int64_t>(id.size()), boxes = split ? k : 0;
  require_shape(id, "ids", {k});
  require_shape(last, "last", {k});
  require_shape(weight, "weights", {k});
  require_shape(centre, "centres", {k, d});
  require_shape(low, "low", {boxes, d});
  require_shape(high, "high", {boxes, d});
  StreamState s = start(d, std::get<0>(counters), split, max_clusters, growth_per_row, lifetime);
  std::tie(s.lam, s.growth, s.n_rows, s.n_counted, s.next_id) = counters;
  s.id = values_of(id);
  s.last = values_of(last);
  s.weight = values_of(weight);
  s.sites = unlocked([&] { return Sites(centre.data(), k, d, 1); });
  s.low = values_of(low);
  s.high = values_of(high);
  require_consistent(s);
  new (&stream) Stream(std::move(s));
}

}  // namespace

void bind_stream(nb::module_& m) {
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
             require(r.rows->d == s.state.sites.d, "rows must have as many columns as the stream");
             require_shape(joined, "joined", {r.rows->n});
             return table_of(unlocked([&] { return s.advance(*r.rows, joined.data()); }));
           },
           "rows"_a, "joined"_in)
      .def("merge", [](Stream& s) { return table_of(unlocked([&] { return s.merge(); })); })
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
