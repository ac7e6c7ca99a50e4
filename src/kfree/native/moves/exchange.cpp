// Rows change clusters one by one, and the centres are updated after every move (Hartigan 1975).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "assign/passes.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

// More than all roundings of a distance, a sparse one too, and of the path lengths that are added to it.
constexpr double ROUNDING = 1e-7;
// Rows of which threads find out at a time whether they may move, and how many of those a thread takes.
constexpr int64_t AT_ONCE = 1 << 14, SHARE = 1 << 10;
// How much of its size a cluster may lose meanwhile.
constexpr double MAY_LOSE = 0.02;

// What a row of weight w at squared distance sq_dist from a centre adds to the cost of its cluster by joining it, and
// takes from it by leaving. `size` is the weight of the cluster or, between unit vectors, the length of its sum S:
// the cost is then 2(W − ‖S‖), and ‖S ± wz‖² = ‖S‖² ± 2w‖S‖(1 − sq_dist/2) + w².
struct MeanRowCosts {
  static double joining(double size, double w, double sq_dist) { return w * size / (size + w) * sq_dist; }
  static double leaving(double size, double w, double sq_dist) { return w * size / (size - w) * sq_dist; }
  static double size(double n, const double*, int64_t) { return n; }
};

struct DirectionRowCosts {
  // 2(w + ‖S‖ − ‖S + wz‖), without a difference of nearly equal numbers
  static double joining(double size, double w, double sq_dist) {
    const double after = std::sqrt(std::fmax((size + w) * (size + w) - w * size * sq_dist, 0.0));
    return 2.0 * w * size * sq_dist / (size + w + after);
  }
  // 2(w + ‖S − wz‖ − ‖S‖)
  static double leaving(double size, double w, double sq_dist) {
    const double after = std::sqrt(std::fmax((size - w) * (size - w) + w * size * sq_dist, 0.0));
    return size > w ? 2.0 * w * size * sq_dist / (size - w + after) : 2.0 * (w - size + after);
  }
  static double size(double, const double* sum, int64_t d) {
    double sq = 0.0;
    for (int64_t t = 0; t < d; ++t) sq += sum[t] * sum[t];
    return std::sqrt(sq);
  }
};

// The clusters of a round: centres that follow every move, and how far each has come. `set_limits` says how far clusters
// may go from here, and how much they may lose; while these limits hold, a row that `may_move` rejects does not move.
template <class RowCosts>
class Visitor {
 public:
  Visitor(const Rows& rows, double least_gain, MovingClusters clusters, int n_threads, double max_step = 0.0)
      : rows_(rows), least_gain_(least_gain), clusters_(clusters),
        sites_(clusters.centres, clusters.k, rows.d, n_threads), size_(clusters.k), z_(rows.d), farthest_(clusters.k),
        smallest_(clusters.k), max_step_(max_step) {
    for (int64_t j = 0; j < clusters.k; ++j) {
      size_[j] = RowCosts::size(clusters.n[j], sum(j), rows.d);
      farthest_[j] = path_length(j) + max_step;
    }
  }

  // Every cluster may go twice as far as any has gone since the last call.
  void set_limits() {
    double longest = 0.0;
    for (int64_t j = 0; j < clusters_.k; ++j)
      longest = std::max(longest, path_length(j) - (farthest_[j] - max_step_));
    max_step_ = std::max(2.0 * longest, 0.5 * max_step_);
    for (int64_t j = 0; j < clusters_.k; ++j) {
      farthest_[j] = path_length(j) + max_step_;
      smallest_[j] = (1.0 - MAY_LOSE) * size_[j];
    }
    limits_hold_ = true;
  }

  bool limits_hold() const { return limits_hold_; }
  double max_step() const { return max_step_; }

  // Costs of joining rise with the size of a cluster, and costs of leaving fall, so the smallest size bounds both.
  bool may_move(int64_t row, int32_t label, int32_t other, const Exchange::LastDistances& last) const {
    if (!last.known) return true;
    const double farthest = last.own_at_most(farthest_[label]), nearest = last.other_at_least(farthest_[other]);
    const double leaving = RowCosts::leaving(smallest_[label], rows_.weight(row), farthest * farthest);
    const double joining = RowCosts::joining(smallest_[other], rows_.weight(row), nearest * nearest);
    return !(smallest_[label] > rows_.weight(row)) || joining < leaving - least_gain_;
  }

  // Where the row would cost least, its own cluster aside; the first one on ties, also where all costs overflow, and −1
  // if there is no other.
  int32_t alternative(int64_t row, int32_t own, Scratch& scratch) const {
    const double w = rows_.weight(row);
    double best = std::numeric_limits<double>::infinity();
    int32_t to = -1;
    rows_.focus(row, scratch);
    for (int64_t p = 0; p < sites_.n_panels(); ++p) {
      double sq_dist[PANEL];
      rows_.sq_dist_panel(scratch, sites_, p, sq_dist);
      for (int64_t j = p * PANEL; j < std::min(sites_.k, (p + 1) * PANEL); ++j) {
        const double joining = RowCosts::joining(size_[j], w, sq_dist[j - p * PANEL]);
        if (j == own || !(to < 0 || joining < best)) continue;
        if (joining < best) best = joining;
        to = static_cast<int32_t>(j);
      }
    }
    return to;
  }

  // Moves the row to the other cluster, if there is one and that saves enough. A cluster's last row stays.
  bool visit(int64_t row, int32_t& label, int32_t& other, Exchange::LastDistances& last) {
    const double w = rows_.weight(row);
    if (other < 0 || !(w > 0.0) || !(clusters_.n[label] > w)) return false;
    const double farthest = last.own_at_most(path_length(label)), nearest = last.other_at_least(path_length(other));
    if (last.known && !saves(w, label, farthest * farthest, other, nearest * nearest)) return false;
    const int64_t twice[] = {row, row};
    const int32_t both[] = {label, other};
    double sq_dist[2];
    rows_.sq_dists({twice, 0}, 2, sites_, both, sq_dist);
    last = {true, std::sqrt(sq_dist[0]) - path_length(label), std::sqrt(sq_dist[1]) + path_length(other)};
    if (!saves(w, label, sq_dist[0], other, sq_dist[1])) return false;
    rows_.copy(row, z_.data());
    shift(label, -w);
    shift(other, w);
    std::swap(label, other);
    last.known = false;
    return true;
  }

 private:
  double* sum(int64_t j) { return clusters_.sum + j * rows_.d; }
  double path_length(int32_t j) const { return clusters_.path_length[j]; }

  bool saves(double w, int32_t label, double own_sq_dist, int32_t other, double other_sq_dist) const {
    const double leaving = RowCosts::leaving(size_[label], w, own_sq_dist);
    return RowCosts::joining(size_[other], w, other_sq_dist) < leaving - least_gain_;
  }

  // Adds the row in z_ to a cluster, or takes it away.
  void shift(int32_t j, double w) {
    clusters_.n[j] += w;
    for (int64_t t = 0; t < rows_.d; ++t) sum(j)[t] += w * z_[t];
    size_[j] = RowCosts::size(clusters_.n[j], sum(j), rows_.d);
    limits_hold_ = limits_hold_ && size_[j] >= smallest_[j];
    if (!(size_[j] > 0.0)) return;  // directions that cancel out: the old centre stays
    double* centre = clusters_.centres + j * rows_.d;
    for (int64_t t = 0; t < rows_.d; ++t) centre[t] = sum(j)[t] / size_[j];
    clusters_.path_length[j] += dist_between(centre, sites_[j], rows_.d);
    sites_.place(j, centre);
    limits_hold_ = limits_hold_ && path_length(j) <= farthest_[j];
  }

  const Rows& rows_;
  const double least_gain_;
  MovingClusters clusters_;
  Sites sites_;
  std::vector<double> size_;
  std::vector<double> z_;
  std::vector<double> farthest_, smallest_;
  double max_step_;
  bool limits_hold_ = true;
};

}  // namespace

double Exchange::LastDistances::own_at_most(double path_length) const {
  return (own + path_length) * (1.0 + ROUNDING) + path_length * ROUNDING;
}

double Exchange::LastDistances::other_at_least(double path_length) const {
  return std::max(0.0, (other - path_length) - other * ROUNDING);
}

Exchange::Exchange(const Rows& rows, RowList list, double least_gain, int n_threads, const int32_t* label,
                   MovingClusters clusters)
    : rows_(rows), least_gain_(least_gain), n_threads_(n_threads), row_(list.row, list.row + list.n),
      other_(list.cluster, list.cluster + list.n) {
  const auto look = [&](const auto& visitor) {
    Blocks(n_blocks(list.n, TILE)).run(n_threads, [&](Worker& worker) {
      Scratch scratch;
      for (int64_t b; (b = worker.next()) >= 0;)
        for (int64_t i = b * TILE; i < std::min(list.n, (b + 1) * TILE); ++i)
          if (other_[i] < 0) other_[i] = visitor.alternative(row_[i], label[row_[i]], scratch);
    });
  };
  if (rows.centres == Centres::MEANS)
    look(Visitor<MeanRowCosts>(rows, least_gain, clusters, n_threads));
  else
    look(Visitor<DirectionRowCosts>(rows, least_gain, clusters, n_threads));
}

int64_t Exchange::round(MovingClusters clusters, int32_t* label) {
  last_.resize(row_.size());  // none are known before the first round
  may_move_.resize(std::min<int64_t>(row_.size(), AT_ONCE));
  if (rows_.centres == Centres::MEANS) {
    Visitor<MeanRowCosts> visitor(rows_, least_gain_, clusters, 1, max_step_);
    return visit_all(visitor, label);
  }
  Visitor<DirectionRowCosts> visitor(rows_, least_gain_, clusters, 1, max_step_);
  return visit_all(visitor, label);
}

template <class Visitor>
int64_t Exchange::visit_all(Visitor& visitor, int32_t* label) {
  const int64_t n = row_.size();
  int64_t n_moved = 0;
  // One thread, because every move changes what the next row sees.
  Blocks(n_blocks(n, AT_ONCE)).run_alone([&](Worker& worker) {
    for (int64_t b; (b = worker.next()) >= 0;)
      n_moved += visit_some(visitor, b * AT_ONCE, std::min(n, (b + 1) * AT_ONCE), label);
  });
  visitor.set_limits();
  max_step_ = visitor.max_step();
  return n_moved;
}

// Threads set aside the rows that cannot move within the limits. If a cluster goes beyond these, all rows that are left
// are visited. One thread alone would look at rows twice.
template <class Visitor>
int64_t Exchange::visit_some(Visitor& visitor, int64_t begin, int64_t end, int32_t* label) {
  visitor.set_limits();
  if (n_threads_ == 1) std::fill(may_move_.begin(), may_move_.end(), true);
  else
    Blocks(n_blocks(end - begin, SHARE)).run(n_threads_, [&](Worker& worker) {
      for (int64_t b; (b = worker.next()) >= 0;)
        for (int64_t i = begin + b * SHARE; i < std::min(end, begin + (b + 1) * SHARE); ++i)
          may_move_[i - begin] = visitor.may_move(row_[i], label[row_[i]], other_[i], last_[i]);
    });
  int64_t n_moved = 0;
  for (int64_t i = begin; i < end; ++i)
    if (may_move_[i - begin] || !visitor.limits_hold())
      n_moved += visitor.visit(row_[i], label[row_[i]], other_[i], last_[i]);
  return n_moved;
}

}  // namespace kfree
