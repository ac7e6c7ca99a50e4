// Arrays from Python as the passes want them.
#pragma once
#include <optional>
#include <stdexcept>
#include <string>

#include "core/binding.hpp"
#include "core/checks.hpp"
#include "rows/sites.hpp"
#include "rows/stats.hpp"

namespace kfree::binding {

// Sums, of any number of axes: see is_by_node.
using Array = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

// Centres that rows are compared with.
inline Sites sites_of(const HeldRows& r, const Matrix<const double>& centres, int n_threads) {
  const auto k = static_cast<int64_t>(centres.shape(0));
  require_shape(centres, "centres", {k, r.rows->d});
  return Sites(centres.data(), k, r.rows->d, n_threads);
}

// Some rows, and a cluster for each.
inline RowList list_of(const Vector<const int64_t>& row, const Vector<const int32_t>& cluster,
                       const char* name = "cluster") {
  const auto n = static_cast<int64_t>(row.shape(0));
  require_shape(cluster, name, {n});
  return {row.data(), cluster.data(), n};
}

// A label and a squared distance for every row.
template <class Label, class SqDist>
void require_per_row(const HeldRows& r, const Label& label, const SqDist& sq_dist) {
  require_shape(label, "label", {r.rows->n});
  require_shape(sq_dist, "sq_dist", {r.rows->n});
}

// Whether an array of sums that has `axes` axes otherwise comes with one more: room for the sums of every node.
inline bool is_by_node(const Rows& rows, const Array& sums, size_t axes) {
  if (sums.ndim() == axes) return false;
  const size_t n_nodes = rows.nodes().size();
  if (sums.ndim() == axes + 1 && sums.shape(0) == n_nodes) return true;
  throw std::invalid_argument("sums must have " + std::to_string(axes) + " axes, or one more of length " +
                              std::to_string(n_nodes) + ", the number of nodes of the rows");
}

// Statistics of n_clusters, or of as many as there is room for.
inline StatsOut stats_of(const Rows& rows, Array& n, Array& sum, Array& sse,
                         std::optional<int64_t> n_clusters = std::nullopt) {
  const bool by_node = is_by_node(rows, n, 1);
  if (is_by_node(rows, sum, 2) != by_node || is_by_node(rows, sse, 1) != by_node)
    throw std::invalid_argument("n, sum and sse must all be by node, or none of them");
  const int64_t k = n_clusters.value_or(n.shape(n.ndim() - 1));
  require_shape(n, "n", {k}, by_node);
  require_shape(sum, "sum", {k, rows.d}, by_node);
  require_shape(sse, "sse", {k}, by_node);
  return {k, n.data(), sum.data(), sse.data(), by_node};
}

}  // namespace kfree::binding
