// Arrays from Python as the passes want them.
#pragma once
#include <stdexcept>
#include <string>

#include "core/binding.hpp"
#include "core/checks.hpp"
#include "rows/sites.hpp"
#include "rows/stats.hpp"

namespace kfree::binding {

// Sums, of any number of axes: see is_by_node.
using Array = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

inline Sites sites_of(const Matrix<const double>& centres) {
  return Sites(centres.data(), centres.shape(0), centres.shape(1));
}

// Centres that rows are compared with have as many columns.
inline void require_columns(const HeldRows& r, const Matrix<const double>& centres) {
  require_shape(centres, "centres", {static_cast<int64_t>(centres.shape(0)), r.rows->d});
}

inline RowList list_of(Vector<const int64_t>& row, Vector<const int32_t>& cluster) {
  return {row.data(), cluster.data(), static_cast<int64_t>(row.shape(0))};
}

// Whether an array of sums that has `axes` axes otherwise comes with one more: room for the sums of every node.
inline bool is_by_node(const Rows& rows, const Array& sums, size_t axes) {
  if (sums.ndim() == axes) return false;
  const size_t n_nodes = rows.nodes().size();
  if (sums.ndim() == axes + 1 && sums.shape(0) == n_nodes) return true;
  throw std::invalid_argument("sums must have " + std::to_string(axes) + " axes, or one more of length " +
                              std::to_string(n_nodes) + ", the number of nodes of the rows");
}

inline StatsOut stats_of(const Rows& rows, Array& n, Array& sum, Array& sse) {
  const bool by_node = is_by_node(rows, n, 1);
  if (is_by_node(rows, sum, 2) != by_node || is_by_node(rows, sse, 1) != by_node)
    throw std::invalid_argument("n, sum and sse must all be by node, or none of them");
  return {static_cast<int64_t>(n.shape(n.ndim() - 1)), n.data(), sum.data(), sse.data(), by_node};
}

}  // namespace kfree::binding
