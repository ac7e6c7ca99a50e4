// Cholesky factors of clusters, interleaved so that one loop solves for several clusters at once.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace kfree {

// A group holds LANES clusters: mean (d, LANES) and the columns of L (d, d, LANES), with d padded to whole blocks of
// rows. Padding is the identity, which adds nothing to a distance. A slot keeps its lane until all are cleared.
class Bank {
 public:
  static constexpr int64_t LANES = 4, BLOCK = 4;

  explicit Bank(int64_t d) : d_(d), padded_((d + BLOCK - 1) / BLOCK * BLOCK), row_(padded_), solved_(padded_ * LANES) {}

  void clear() {
    mean_.clear();
    factor_.clear();
    slots_.clear();
    lane_.clear();
  }

  int64_t n_groups() const { return (n_lanes() + LANES - 1) / LANES; }
  int64_t n_lanes() const { return static_cast<int64_t>(slots_.size()); }
  int64_t slot(int64_t lane) const { return slots_[lane]; }

  // in mean (d,), factor (d, d) by columns.
  void put(int64_t slot, const std::vector<double>& mean, const std::vector<double>& factor) {
    const int64_t place = lane_of(slot), group = place / LANES, lane = place % LANES;
    for (int64_t t = 0; t < d_; ++t) mean_[(group * padded_ + t) * LANES + lane] = mean[t];
    for (int64_t j = 0; j < d_; ++j) {
      double* column = factor_.data() + (group * padded_ + j) * padded_ * LANES + lane;
      for (int64_t t = j; t < d_; ++t) column[t * LANES] = factor[j * d_ + t];
    }
  }

  void take_row(const double* row) { std::copy_n(row, d_, row_.begin()); }

  // ‖L⁻¹(row − mean)‖² for the clusters of a group, or some number above `most` where it is.
  // in most (LANES,); out sq_dist (LANES,).
  void sq_dists(int64_t group, const double* most, double* sq_dist) {
    const double* mean = mean_.data() + group * padded_ * LANES;
    const double* factor = factor_.data() + group * padded_ * padded_ * LANES;
    double sum[LANES] = {};
    for (int64_t begin = 0; begin < padded_; begin += BLOCK) {
      bool open = false;
      for (int64_t l = 0; l < LANES; ++l) open |= sum[l] <= most[l];
      if (!open) break;
      double gap[BLOCK][LANES];
      for (int64_t t = 0; t < BLOCK; ++t)
        for (int64_t l = 0; l < LANES; ++l) gap[t][l] = row_[begin + t] - mean[(begin + t) * LANES + l];
      for (int64_t j = 0; j < begin; ++j) subtract(gap, solved_.data() + j * LANES, factor + (j * padded_ + begin) * LANES);
      for (int64_t j = 0; j < BLOCK; ++j) {
        const double* column = factor + ((begin + j) * padded_ + begin) * LANES;
        double* solved = solved_.data() + (begin + j) * LANES;
        for (int64_t l = 0; l < LANES; ++l) {
          solved[l] = gap[j][l] / column[j * LANES + l];
          sum[l] += solved[l] * solved[l];
        }
        for (int64_t t = j + 1; t < BLOCK; ++t)
          for (int64_t l = 0; l < LANES; ++l) gap[t][l] -= solved[l] * column[t * LANES + l];
      }
    }
    std::copy_n(sum, LANES, sq_dist);
  }

 private:
  // A slot that has no lane yet gets the next one.
  int64_t lane_of(int64_t slot) {
    if (slot >= static_cast<int64_t>(lane_.size())) lane_.resize(slot + 1, -1);
    if (lane_[slot] < 0) {
      lane_[slot] = n_lanes();
      slots_.push_back(slot);
      if (lane_[slot] % LANES == 0) add_group();
    }
    return lane_[slot];
  }

  static void subtract(double (&gap)[BLOCK][LANES], const double* solved, const double* column) {
    for (int64_t t = 0; t < BLOCK; ++t)
      for (int64_t l = 0; l < LANES; ++l) gap[t][l] -= solved[l] * column[t * LANES + l];
  }

  void add_group() {
    mean_.resize(mean_.size() + padded_ * LANES, 0.0);
    const int64_t begin = static_cast<int64_t>(factor_.size());
    factor_.resize(begin + padded_ * padded_ * LANES, 0.0);
    for (int64_t j = 0; j < padded_; ++j)
      std::fill_n(factor_.begin() + begin + (j * padded_ + j) * LANES, LANES, 1.0);
  }

  int64_t d_, padded_;
  std::vector<double> row_, solved_;
  std::vector<double> mean_, factor_;
  std::vector<int64_t> slots_, lane_;  // of each lane its slot, of each slot its lane or −1
};

}  // namespace kfree
