// Clusters of a graph under a penalised cut, Σ_c (out_c / volume_c + lam)   (Kulis & Jordan 2012, §5.2):
// nodes that move, neighbouring clusters that merge, and the graph of the clusters.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace kfree {

// An undirected graph without loops: every edge is listed at both of its ends. A node may stand for many.
struct Graph {
  int64_t n;
  const int64_t* begin;      // (n + 1,)
  const int32_t* neighbour;  // (begin[n],)
  const double* weight;      // (begin[n],) > 0
  const double* out;         // (n,) links to other nodes
  const double* volume;      // (n,) > 0; a cut is divided by it: degree for the normalised, size for the ratio cut
};

// Called now and then; if it returns false, Interrupted is thrown.
using GoOn = std::function<bool()>;

struct MoveRules {
  double lam;
  double least_gain;  // a move that lowers the cost by no more is at the limit of rounding
  bool thorough;      // also consider clusters without a link to the node, and continue until no move lowers the cost (one block)
};

// Each node moves to the cluster, old or new, that lowers the cost most; nodes whose neighbours have moved are visited
// again. Nodes of different blocks never share a cluster.
// in order (n,), a permutation, block (n,); in and out label (n,), from 0 to n − 1. Returns the number of moves, below
// zero if nodes were still moving after a fixed number of visits.
int64_t move_nodes(const Graph& graph, const MoveRules& rules, const int64_t* order, const int32_t* block,
                   int32_t* label, const GoOn& go_on);

// The graph whose nodes are the k clusters of `label`.
// in label (n,); out begin (k + 1,), neighbour and weight of which at most graph.begin[n] places are written, out (k,)
void contract(const Graph& graph, const int32_t* label, int64_t k, int64_t* begin, int32_t* neighbour, double* weight,
              double* out);

// Merges the two neighbouring nodes for which this adds least to the cut, the smallest pair on ties, as long as it adds
// less than `below`. The pair goes on under the smaller number.
// out pairs (n − 1, 2), cost (n − 1,). Returns how many merges there were.
int64_t merge_neighbours(const Graph& graph, double below, int64_t* pairs, double* cost, const GoOn& go_on);

}  // namespace kfree
