// A kd-tree whose nodes store the moments of their rows: a cluster that owns a box gets all of its rows in one step
// (Kurihara & Welling 2009, §9.1, after Pelleg & Moore 1999).
#pragma once
#include <cstdint>
#include <vector>

#include "quadratic/quadratic.hpp"

namespace kfree {

class KdTree {
 public:
  // Over rows (n, d). They are read here only; later calls want them in the order of the tree.
  KdTree(const double* rows, int64_t n, int64_t d, int64_t leaf_size);

  // order[i]: the row that lies at place i of the tree.
  const std::vector<int64_t>& order() const { return order_; }
  int64_t d() const { return d_; }

  // in rows (n, d) in the order of the tree; out label (n,) in the same order, and moments of the clusters.
  // Returns the number of comparisons of a row or a box with a cluster.
  int64_t assign(const double* rows, const Quadratics& q, int n_threads, int32_t* label, const MomentsOut& out) const;

 private:
  friend class KdDescent;
  struct Node {
    int64_t begin, end;  // its rows, as places of the tree
    int64_t left;        // its left child, the right one follows; −1 for a leaf
  };

  void grow(const double* rows, int64_t leaf_size);
  void enclose(const double* rows, int64_t node);
  void divide(const double* rows, int64_t node);
  void measure(const double* rows);
  void choose_parts();
  MomentsOut node_moments() const;

  int64_t d_;
  std::vector<int64_t> order_;
  std::vector<Node> nodes_;
  std::vector<double> middle_, reach_;             // (nodes, d): centre of the box and half its width
  mutable std::vector<double> n_, sum_, scatter_;  // moments of the nodes
  std::vector<int64_t> parts_;                     // subtrees that threads take one by one; together, all rows
};

}  // namespace kfree
