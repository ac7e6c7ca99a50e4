// Rows change clusters one by one, and the centres follow at once (Hartigan 1975).
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "assign/passes.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

// Rounding could make rows go back and forth for ever.
constexpr int MOST_ROUNDS = 100;
// More than all roundings of a distance, a sparse one too, and of the ways that are added to it.
constexpr double ROUNDING = 1e-7;

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

template <class RowCosts>
class Exchange {
 public:
  Exchange(const Rows& rows, const Sites& sites, double least_gain, StatsOut stats)
      : rows_(rows), sites_(sites), least_gain_(least_gain), stats_(stats), size_(stats.k), way_(stats.k, 0.0),
        z_(rows.d) {
    for (int64_t j = 0; j < stats.k; ++j) size_[j] = RowCosts::size(stats.n[j], sum(j), rows.d);
  }

  // Where the row would cost least, its own cluster aside; the first one on ties, −1 if there is no other.
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
        if (j != own && joining < best) {
          best = joining;
          to = static_cast<int32_t>(j);
        }
      }
    }
    return to;
  }

  // What a row saw when it last looked: its distances to both centres, less the way that the own one had come by then
  // and more the way of the other. Neither can have come nearer or gone farther than by its way since.
  struct Seen {
    bool anything = false;
    double own = 0.0, other = 0.0;

    double own_at_most(double way) const { return (own + way) * (1.0 + ROUNDING) + way * ROUNDING; }
    double other_at_least(double way) const { return std::max(0.0, (other - way) - other * ROUNDING); }
  };

  // Moves the row to the other cluster if that saves enough. A cluster's last row stays.
  bool visit(int64_t row, int32_t& label, int32_t& other, Seen& seen) {
    const double w = rows_.weight(row);
    if (!(w > 0.0) || !(stats_.n[label] > w)) return false;
    const double farthest = seen.own_at_most(way_[label]), nearest = seen.other_at_least(way_[other]);
    if (seen.anything && !saves(w, label, farthest * farthest, other, nearest * nearest)) return false;
    const int64_t twice[] = {row, row};
    const int32_t both[] = {label, other};
    double sq_dist[2];
    rows_.sq_dists({twice, 0}, 2, sites_, both, sq_dist);
    seen = {true, std::sqrt(sq_dist[0]) - way_[label], std::sqrt(sq_dist[1]) + way_[other]};
    if (!saves(w, label, sq_dist[0], other, sq_dist[1])) return false;
    rows_.copy(row, z_.data());
    shift(label, -w);
    shift(other, w);
    std::swap(label, other);
    seen.anything = false;
    return true;
  }

 private:
  double* sum(int64_t j) { return stats_.sum + j * rows_.d; }

  bool saves(double w, int32_t label, double own_sq_dist, int32_t other, double other_sq_dist) const {
    const double leaving = RowCosts::leaving(size_[label], w, own_sq_dist);
    return RowCosts::joining(size_[other], w, other_sq_dist) < leaving - least_gain_;
  }

  // Adds the row in z_ to a cluster, or takes it away.
  void shift(int32_t j, double w) {
    stats_.n[j] += w;
    for (int64_t t = 0; t < rows_.d; ++t) sum(j)[t] += w * z_[t];
    size_[j] = RowCosts::size(stats_.n[j], sum(j), rows_.d);
    if (!(size_[j] > 0.0)) return;  // directions that cancel out: the old centre stays
    std::vector<double> centre(sum(j), sum(j) + rows_.d);
    for (double& value : centre) value /= size_[j];
    way_[j] += dist_between(centre.data(), sites_[j], rows_.d);
    sites_.place(j, centre.data());
  }

  const Rows& rows_;
  Sites sites_;
  const double least_gain_;
  StatsOut stats_;
  std::vector<double> size_;
  std::vector<double> way_;  // that each centre has come, move by move
  std::vector<double> z_;
};

template <class RowCosts>
int64_t exchange_all(const Rows& rows, RowList list, const Sites& sites, double least_gain, int n_threads,
                     int32_t* label, StatsOut stats) {
  Exchange<RowCosts> exchange(rows, sites, least_gain, stats);
  std::vector<int32_t> other(list.n);
  std::vector<typename Exchange<RowCosts>::Seen> seen(list.n);
  Blocks(n_blocks(list.n, TILE)).run(n_threads, [&](Worker& worker) {
    Scratch scratch;
    for (int64_t b; (b = worker.next()) >= 0;)
      for (int64_t i = b * TILE; i < std::min(list.n, (b + 1) * TILE); ++i)
        other[i] = list.cluster[i] >= 0 ? list.cluster[i]
                                        : exchange.alternative(list.row[i], label[list.row[i]], scratch);
  });
  int64_t n_moved = 0, n_moved_now = -1;
  for (int round = 0; round < MOST_ROUNDS && n_moved_now != 0; ++round) {
    n_moved_now = 0;
    // One thread, because every move changes what the next row sees.
    Blocks(n_blocks(list.n, BLOCK)).run_alone([&](Worker& worker) {
      for (int64_t b; (b = worker.next()) >= 0;)
        for (int64_t i = b * BLOCK; i < std::min(list.n, (b + 1) * BLOCK); ++i)
          n_moved_now += exchange.visit(list.row[i], label[list.row[i]], other[i], seen[i]);
    });
    n_moved += n_moved_now;
  }
  return n_moved;
}

}  // namespace

int64_t exchange(const Rows& rows, RowList list, const Sites& sites, double least_gain, int n_threads, int32_t* label,
                 StatsOut stats) {
  const auto run = rows.centres == Centres::MEANS ? exchange_all<MeanRowCosts> : exchange_all<DirectionRowCosts>;
  return run(rows, list, sites, least_gain, n_threads, label, stats);
}

}  // namespace kfree
