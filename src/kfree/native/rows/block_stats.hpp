// Sums over one block of rows, to be joined in block order.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "assign/passes.hpp"

namespace kfree {

inline int64_t n_blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }

// For the clusters that a block touches, in the order in which it does; cleared in time proportional to those.
class BlockStats {
 public:
  BlockStats(const Rows& rows, int64_t k)
      : rows_(rows), slot_(k, -1), n_(std::min({k, BLOCK, rows.n})), sse_(n_.size()), sum_(n_.size() * rows.d) {}

  // in label, sq_dist (n_rows ≤ BLOCK,)
  void gather(RowSet rows, int64_t n_rows, const int32_t* label, const double* sq_dist) {
    reset();
    add(rows, n_rows, label, sq_dist);
  }
  // The same with given weights (n_rows,), which may be negative; null for ones.
  void gather(RowSet rows, int64_t n_rows, const int32_t* label, const double* weight, const double* sq_dist) {
    reset();
    add(rows, n_rows, label, weight, sq_dist);
  }

  // The same in parts: rows in order, up to BLOCK of them.
  void reset() {
    for (const int32_t j : touched_) slot_[j] = -1;
    touched_.clear();
  }
  void add(RowSet rows, int64_t n_rows, const int32_t* label, const double* sq_dist) {
    double weight[BLOCK];
    for (int64_t i = 0; i < n_rows && rows_.weighted(); ++i) weight[i] = rows_.weight(rows[i]);
    add(rows, n_rows, label, rows_.weighted() ? weight : nullptr, sq_dist);
  }
  void add(RowSet rows, int64_t n_rows, const int32_t* label, const double* weight, const double* sq_dist) {
    int32_t slot[BLOCK];
    for (int64_t i = 0; i < n_rows; ++i) {
      const int32_t j = label[i];
      if (slot_[j] < 0) open(j);
      slot[i] = slot_[j];
    }
    double *n = n_.data(), *sse = sse_.data();
    for (int64_t i = 0; i < n_rows && !weight; ++i) {
      n[slot[i]] += 1.0;
      sse[slot[i]] += sq_dist[i];
    }
    for (int64_t i = 0; i < n_rows && weight; ++i) {
      n[slot[i]] += weight[i];
      sse[slot[i]] += weight[i] != 0.0 ? weight[i] * sq_dist[i] : 0.0;  // which may be infinite, and not count
    }
    rows_.add(rows, n_rows, weight, slot, sum_.data());
  }

  void join(StatsOut out) const {
    for (size_t s = 0; s < touched_.size(); ++s) {
      const int64_t j = touched_[s];
      out.n[j] += n_[s];
      out.sse[j] += sse_[s];
      for (int64_t t = 0; t < rows_.d; ++t) out.sum[j * rows_.d + t] += sum_[s * rows_.d + t];
    }
  }

  static void clear(StatsOut out, int64_t d) {
    std::fill_n(out.n, out.k, 0.0);
    std::fill_n(out.sse, out.k, 0.0);
    std::fill_n(out.sum, out.k * d, 0.0);
  }

 private:
  void open(int32_t j) {
    const size_t s = touched_.size();
    slot_[j] = static_cast<int32_t>(s);
    touched_.push_back(j);
    n_[s] = sse_[s] = 0.0;
    std::fill_n(sum_.data() + s * rows_.d, rows_.d, 0.0);
  }

  const Rows& rows_;
  std::vector<int32_t> slot_, touched_;
  std::vector<double> n_, sse_, sum_;
};

}  // namespace kfree
