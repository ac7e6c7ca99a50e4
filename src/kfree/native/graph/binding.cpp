// The Python binding of graphs under a penalised cut; reference implementation: reference/cut.py.
#include <algorithm>

#include "core/binding.hpp"
#include "core/checks.hpp"
#include "graph/cut.hpp"

namespace kfree::binding {
namespace {

// The arrays that every function takes first.
using Begin = Vector<const int64_t>;
using Neighbour = Vector<const int32_t>;
using Values = Vector<const double>;

Graph graph_of(const Begin& begin, const Neighbour& neighbour, const Values& weight, const Values& out,
               const Values& volume) {
  const auto n = static_cast<int64_t>(out.size()), n_links = static_cast<int64_t>(neighbour.size());
  require_shape(begin, "begin", {n + 1});
  require_shape(weight, "weight", {n_links});
  require_shape(volume, "volume", {n});
  require_cuts("begin", begin.data(), n, n_links);
  return {n, begin.data(), neighbour.data(), weight.data(), out.data(), volume.data()};
}

}  // namespace

void bind_graph(nb::module_& m) {
  m.def("move_nodes", [](Begin begin, Neighbour neighbour, Values weight, Values out, Values volume, double lam,
                         double least_gain, bool thorough, Vector<const int64_t> order, Vector<const int32_t> block,
                         Vector<int32_t> label) {
    const Graph graph = graph_of(begin, neighbour, weight, out, volume);
    require_shape(order, "order", {graph.n});
    require_shape(block, "block", {graph.n});
    require_shape(label, "label", {graph.n});
    require_within("order", order.data(), graph.n, graph.n);
    const MoveRules rules{lam, least_gain, thorough};
    return interruptible([&](const GoOn& go_on) {
      return move_nodes(graph, rules, order.data(), block.data(), label.data(), go_on);
    });
  }, "begin"_in, "neighbour"_in, "weight"_in, "out"_in, "volume"_in, "lam"_a, "least_gain"_a, "thorough"_a, "order"_in,
     "block"_in, "label"_in);

  m.def("contract", [](Begin begin, Neighbour neighbour, Values weight, Values out, Values volume,
                       Vector<const int32_t> label, Vector<int64_t> new_begin, Vector<int32_t> new_neighbour,
                       Vector<double> new_weight, Vector<double> new_out) {
    const Graph graph = graph_of(begin, neighbour, weight, out, volume);
    const auto k = static_cast<int64_t>(new_out.size());
    require_shape(label, "label", {graph.n});
    require_shape(new_begin, "new_begin", {k + 1});
    require_shape(new_neighbour, "new_neighbour", {static_cast<int64_t>(neighbour.size())});
    require_shape(new_weight, "new_weight", {static_cast<int64_t>(weight.size())});
    unlocked([&] {
      contract(graph, label.data(), k, new_begin.data(), new_neighbour.data(), new_weight.data(), new_out.data());
    });
  }, "begin"_in, "neighbour"_in, "weight"_in, "out"_in, "volume"_in, "label"_in, "new_begin"_in, "new_neighbour"_in,
     "new_weight"_in, "new_out"_in);

  m.def("merge_neighbours", [](Begin begin, Neighbour neighbour, Values weight, Values out, Values volume, double below,
                               Matrix<int64_t> pairs, Vector<double> cost) {
    const Graph graph = graph_of(begin, neighbour, weight, out, volume);
    const int64_t most = std::max<int64_t>(graph.n - 1, 0);
    require_shape(pairs, "pairs", {most, 2});
    require_shape(cost, "cost", {most});
    return interruptible([&](const GoOn& go_on) {
      return merge_neighbours(graph, below, pairs.data(), cost.data(), go_on);
    });
  }, "begin"_in, "neighbour"_in, "weight"_in, "out"_in, "volume"_in, "below"_a, "pairs"_in, "cost"_in);
}

}  // namespace kfree::binding
