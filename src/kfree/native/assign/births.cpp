// Births of a sweep: far rows open clusters, and later rows join them (Kulis & Jordan 2012, Algorithm 1).
#include <algorithm>
#include <utility>
#include <vector>

#include "assign/passes.hpp"
#include "core/parallel.hpp"
#include "rows/site_tree.hpp"
#include "rows/tiles.hpp"

namespace kfree {
namespace {

// Far rows at a time: as many as that after a birth, and twice as many after each block without one.
constexpr int64_t LEAST_AT_ONCE = 256, MOST_AT_ONCE = 1 << 14;
// A block ends early after more births than this, since its rows are compared with them one by one.
constexpr int64_t MOST_BIRTHS = 16;
// Below this many coordinate differences, starting threads costs more than it saves. A row takes as long as some
// differences before the first.
constexpr int64_t WORTH_THREADS = 1 << 17, DIFFERENCES_PER_ROW = 32;

// Far rows, one block after the other; in-out label, sq_dist (n,).
class Births {
 public:
  Births(const Rows& rows, int32_t first_label, double lam, int64_t room, int n_threads, int32_t* label, double* sq_dist)
      : rows_(rows), first_label_(first_label), lam_(lam), room_(room), n_threads_(n_threads), label_(label),
        sq_dist_(sq_dist), newborn_(rows.d), z_(rows.d) {}

  // All rows of a block against the clusters born in earlier blocks, then one after the other against those born in
  // this one. in far (n_far,), the first of which is at `place` among all. Returns how many rows were visited.
  int64_t open(const int64_t* far, int64_t n_far, int64_t place) {
    const int64_t born_before = newborn_.k;
    if (rows_.has_coordinates() && SiteTree::pays(born_before, rows_.d))
      search_forest(far, n_far);
    else if (born_before > 0)
      rank(far, n_far);
    int64_t n_visited = 0;
    while (n_visited < n_far && (n_visited < LEAST_AT_ONCE || newborn_.k <= born_before + MOST_BIRTHS)) {
      visit(far[n_visited], born_before, place + n_visited);
      ++n_visited;
    }
    return n_visited;
  }
  int64_t n_born() const { return newborn_.k; }
  Opened opened{{}, 0};

 private:
  void rank(const int64_t* far, int64_t n_far) {
    const int64_t n_sites = newborn_.k;
    const bool worth_threads = n_far * (n_sites * rows_.d + DIFFERENCES_PER_ROW) >= WORTH_THREADS;
    Blocks(n_blocks(n_far, TILE)).run(worth_threads ? n_threads_ : 1, [&](Worker& worker) {
      Scratch scratch;
      int32_t nearest[TILE];
      double near[TILE], second[TILE];
      for (int64_t b; (b = worker.next()) >= 0;) {
        const int64_t* tile = far + b * TILE;
        const int m = static_cast<int>(std::min<int64_t>(TILE, n_far - b * TILE));
        rows_.nearest({tile, 0}, m, newborn_, n_sites, scratch, nearest, near, second);
        for (int i = 0; i < m; ++i)
          if (near[i] < sq_dist_[tile[i]]) join(tile[i], nearest[i], near[i]);
      }
    });
  }

  void search_forest(const int64_t* far, int64_t n_far) {
    forest_.take_in(newborn_);
    const bool has_room = newborn_.k + n_far <= room_;
    Blocks(n_blocks(n_far, TILE)).run(1, [&](Worker& worker) {
      Scratch scratch;
      for (int64_t b; (b = worker.next()) >= 0;)
        for (int64_t i = b * TILE; i < std::min(n_far, (b + 1) * TILE); ++i) {
          Nearest found{.label = -1, .sq_dist = sq_dist_[far[i]]};
          // While there is room, a row opens a cluster unless one is so near that weight·sq_dist ≤ lam. The limit is
          // more than that, however it is rounded.
          if (has_room) found.sq_dist = std::min(found.sq_dist, 2.0 * (lam_ / rows_.weight(far[i])) + 1e-300);
          rows_.focus(far[i], scratch);
          forest_.search(scratch.z.data(), newborn_, found);
          if (found.label >= 0) join(far[i], found.label, found.sq_dist);
        }
    });
  }

  void visit(int64_t row, int64_t born_before, int64_t place) {
    for (int64_t j = born_before; j < newborn_.k; ++j) {
      const double near = rows_.sq_dist(row, newborn_, static_cast<int32_t>(j));
      if (near < sq_dist_[row]) join(row, static_cast<int32_t>(j), near);
    }
    if (!(rows_.weight(row) * sq_dist_[row] > lam_)) return;
    if (newborn_.k == room_) {
      ++opened.n_refused;
      return;
    }
    join(row, static_cast<int32_t>(newborn_.k), 0.0);
    rows_.copy(row, z_.data());
    newborn_.append(z_.data());
    opened.founders.push_back(place);
  }

  void join(int64_t row, int32_t j, double sq_dist) {
    sq_dist_[row] = sq_dist;
    label_[row] = first_label_ + j;
  }

  const Rows& rows_;
  const int32_t first_label_;
  const double lam_;
  const int64_t room_;
  const int n_threads_;
  int32_t* label_;
  double* sq_dist_;
  Sites newborn_;
  SiteForest forest_;
  std::vector<double> z_;
};

}  // namespace

Opened open_clusters(const Rows& rows, const int64_t* far, int64_t n_far, int32_t first_label, double lam, int64_t room,
                     int n_threads, int32_t* label, double* sq_dist) {
  Births births(rows, first_label, lam, room, n_threads, label, sq_dist);
  int64_t at_once = LEAST_AT_ONCE;
  for (int64_t begin = 0; begin < n_far;) {
    const int64_t born_before = births.n_born();
    begin += births.open(far + begin, std::min(at_once, n_far - begin), begin);
    at_once = births.n_born() > born_before ? LEAST_AT_ONCE : std::min(2 * at_once, MOST_AT_ONCE);
  }
  return std::move(births.opened);
}

void join_newborn(const Rows& rows, const int64_t* order, const Sites& newborn, const int64_t* born_at, int32_t first_label,
           int n_threads, int32_t* label, double* sq_dist) {
  const int64_t* born_end = born_at + newborn.k;
  TreeOnDemand on_demand(rows, newborn);
  if (const SiteTree* tree = on_demand.get())
    return for_tiles(born_at[0] + 1, rows.n, n_threads, [&](Scratch& scratch, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = order ? order[i] : i;
        const auto n_older = static_cast<int32_t>(std::lower_bound(born_at, born_end, i) - born_at);
        Nearest found{.label = -1, .sq_dist = sq_dist[row], .n_sites = n_older};
        rows.focus(row, scratch);
        tree->search(scratch.z.data(), found);
        if (found.label < 0) continue;
        sq_dist[row] = found.sq_dist;
        label[row] = first_label + found.label;
      }
    });
  for_tiles(born_at[0] + 1, rows.n, n_threads, [&](Scratch& scratch, int64_t begin, int64_t end) {
    int32_t nearest[TILE];
    double near[TILE], second[TILE];
    const RowSet tile = {order ? order + begin : nullptr, begin};
    const int m = static_cast<int>(end - begin);
    // Born before the tile: for all of it. Born within it: for the rows after.
    const int64_t older = std::lower_bound(born_at, born_end, begin) - born_at;
    rows.nearest(tile, m, newborn, older, scratch, nearest, near, second);
    for (int i = 0; i < m; ++i) {
      for (int64_t j = older; j < newborn.k && born_at[j] < begin + i; ++j) {
        const double gap = rows.sq_dist(tile[i], newborn, static_cast<int32_t>(j));
        if (gap < near[i]) {
          near[i] = gap;
          nearest[i] = static_cast<int32_t>(j);
        }
      }
      if (near[i] < sq_dist[tile[i]]) {
        sq_dist[tile[i]] = near[i];
        label[tile[i]] = first_label + nearest[i];
      }
    }
  });
}

}  // namespace kfree
