// Rows: the data as the kernels see them, dense or sparse, float32 or float64, never copied.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "assign/int8/quantized.hpp"
#include "core/aligned_bytes.hpp"
#include "core/buffers.hpp"
#include "core/sum_tree.hpp"
#include "rows/row_set.hpp"
#include "rows/sites.hpp"

namespace kfree {

// Some rows, each with the number of its cluster; row, cluster (n,).
struct RowList {
  const int64_t* row;
  const int32_t* cluster;
  int64_t n;
};

// Rows whose statistics are wanted, cluster by cluster: those of the r-th one are begin[r] … begin[r + 1] − 1, ascending,
// all of them below one node of the given level of the tree of blocks.
struct ByCluster {
  int64_t n_clusters;
  const int64_t *begin, *row;
  const double *weight, *sq_dist;
  const char* is_known;  // (n_clusters,): whether the sum of coordinates is known; null if none is
  int level;
};

// Distances that are known already: a site and the squared distance to it for each of some rows, or nulls.
struct Known {
  const int32_t* label = nullptr;
  const double* sq_dist = nullptr;
};

// Buffers of one thread, kept between tiles.
struct Scratch {
  std::vector<float> z32;  // (TILE/group, d, group)
  std::vector<double> z;   // (d,) coordinates of the focused row
  std::vector<float> scores;   // (n_panels, TILE, PANEL) of a tile that ranking did not decide
  AlignedBytes quantized;  // (TILE, stride) rows for the prefilter
  std::vector<int16_t> lowest;     // (n_panels, TILE) what ranking them leaves for a second look
  std::vector<int32_t> candidate;  // (TILE, MOST_CANDIDATES) of those that it did not decide
  int64_t row = -1;        // the focused row
};

// What the best centre of a cluster is: the mean of its rows or, between unit vectors, the direction of their sum.
enum class Centres { MEANS, DIRECTIONS };

class Rows {
 public:
  const int64_t n, d;
  const Centres centres;
  const int64_t first_block;  // block of the first row among those of all parts; 0 where there is one part
  virtual ~Rows() = default;

  bool weighted() const { return weight_ != nullptr; }
  double weight(int64_t row) const { return weight_ ? weight_[row] : 1.0; }
  // Memory for sums, kept from one pass to the next.
  Buffers& buffers() const { return buffers_; }
  int64_t n_blocks() const { return (n + BLOCK - 1) / BLOCK; }
  // Those whose sums a part hands on, to be joined with those of other parts.
  std::vector<TreeNode> nodes() const { return nodes_covering(first_block, first_block + n_blocks()); }
  // What rows are divided by where centres are directions, else empty.
  const std::vector<double>& lengths() const { return lengths_; }

  // Whether canonical distances are those of exact.hpp to coordinates that `copy` gives, so that sites can be indexed.
  virtual bool has_coordinates() const { return false; }

  // All in canonical coordinates and canonical arithmetic (exact.hpp).
  virtual void copy(int64_t row, double* z) const = 0;
  // Adds weight, weight·sq_dist and weight·z of each row to the d + 2 values of its record. in record, sq_dist (n_rows,),
  // weight (n_rows,) or null for ones; in-out records (·, d + 2)
  virtual void add(RowSet rows, int64_t n_rows, const double* weight, const double* sq_dist, const int32_t* record,
                   double* records) const = 0;
  // out record (n_clusters, d + 2): total weight, weighted squared distances, weighted sum of coordinates
  virtual void add_up(const ByCluster& rows, double* record) const = 0;
  // out sq_dist (n_rows,): squared distance of each row to the site that label (n_rows,) names
  virtual void sq_dists(RowSet rows, int64_t n_rows, const Sites& sites, const int32_t* label,
                        double* sq_dist) const = 0;
  double sq_dist(int64_t row, const Sites& sites, int32_t j) const {
    double out;
    sq_dists({nullptr, row}, 1, sites, &j, &out);
    return out;
  }
  // The same for up to TILE rows, but what is known is copied.
  void sq_dists_unless(Known known, RowSet rows, int n_rows, const Sites& sites, const int32_t* label,
                       double* sq_dist) const;
  // Selects `row` for sq_dist_panel, until the next call with this scratch.
  virtual void focus(int64_t row, Scratch& scratch) const = 0;
  // out sq_dist (PANEL,): squared distances of the focused row to the sites of panel p
  virtual void sq_dist_panel(const Scratch& scratch, const Sites& sites, int64_t p, double* sq_dist) const = 0;
  // out label, sq_dist (n_rows ≤ TILE,): the nearest of the first n_sites sites, first-born on ties
  // out second (n_rows,): no other of them is nearer than the safe_dist of this
  virtual void nearest(RowSet rows, int n_rows, const Sites& sites, int64_t n_sites, Scratch& scratch,
                       int32_t* label, double* sq_dist, double* second, Known known = {}) const = 0;
  // Whether ranking k sites takes so little time that a bound that fails for most rows is not worth asking for.
  virtual bool ranks_narrow(int64_t) const { return false; }
  // Whether ranking k sites takes less time where the prefilter is tried first.
  virtual bool prefilter_pays(int64_t) const { return false; }
  // The quantised sites, or those of a subset, for these rows, made by n_threads threads; null if not possible.
  virtual std::unique_ptr<const QuantizedSites> quantized(const Sites&, const Subset*, int) const { return nullptr; }
  // Up to TILE rows as bytes, into scratch.quantized; only where `quantized` gives something
  virtual void quantize(RowSet, int, const QuantizedSites&, Scratch&, QuantizedTile&) const {}
  // Squared distances of a row to n sites, added in any order; only where `quantized` gives something.
  virtual void sq_dists_in_any_order(int64_t, const Sites&, const int32_t*, int, Scratch&, double*) const {}
  // out lower (n_rows ≤ TILE,): no site of the subset, but the one that label names, is nearer to the row than this
  virtual void lower_among(RowSet rows, int n_rows, const Sites& sites, const Subset& some, const int32_t* label,
                           Scratch& scratch, double* lower) const = 0;
  // Adds Σ weight·min(sq_dist, squared distance to the candidate) over up to TILE consecutive rows, approximately, for
  // up to PANEL candidates. in sq_dist (n_rows,); in-out potential, error (PANEL,): the sums, and by how much they may
  // be off; out may_gain (n_rows,): 1 if some candidate may be nearer to the row than sq_dist says, else 0
  virtual void add_potentials(int64_t begin, int n_rows, const Sites& candidates, const double* sq_dist,
                              Scratch& scratch, double* potential, double* error, char* may_gain) const = 0;

 protected:
  Rows(int64_t n, int64_t d, Centres centres, const double* weight, int64_t first_block)
      : n(n), d(d), centres(centres), first_block(first_block), weight_(weight) {}
  // Fills lengths_ with length(row); to be called once, by a constructor.
  void measure_lengths(const std::function<double(int64_t)>& length);
  // Among sites first…n_sites−1, replaces (label, sq_dist) by what is strictly nearer; second_sq_dist by the next.
  void improve(int64_t row, const Sites& sites, int64_t first, int64_t n_sites, Scratch& scratch, int32_t& label,
               double& sq_dist, double& second_sq_dist) const;

  const double* weight_;
  std::vector<double> lengths_;
  mutable Buffers buffers_;
};

// X (n, d) with any strides, counted in values; anchor, shift (d,); weight (n,) or null.
// Canonical coordinates: (x − anchor) − shift, or x divided by its length when `unit`.
template <class T>
std::unique_ptr<Rows> dense_rows(const T* X, int64_t n, int64_t d, int64_t row_stride, int64_t column_stride,
                                 std::vector<double> anchor, std::vector<double> shift, bool unit,
                                 const double* weight, int64_t first_block, const Ranker& ranker);

// data, indices (nnz,), sorted within a row; indptr (n+1,). Canonical coordinates: x, or x over its length.
template <class T, class I>
std::unique_ptr<Rows> csr_rows(const T* data, const I* indices, const I* indptr, int64_t n, int64_t d, bool unit,
                               const double* weight, int64_t first_block);

}  // namespace kfree
