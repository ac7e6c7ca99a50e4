// Where a row would go if its own cluster were gone.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "assign/passes.hpp"
#include "core/parallel.hpp"
#include "rows/site_tree.hpp"
#include "rows/tiles.hpp"

namespace kfree {
namespace {

// The sites without a few of them, whose places the last ones take, so that what is left can be ranked as it is.
class Others {
 public:
  explicit Others(const Sites& all) : all_(all), some_(all), number_(all.k), place_(all.k) {
    std::iota(number_.begin(), number_.end(), 0);
    std::iota(place_.begin(), place_.end(), 0);
  }

  const Sites& without(const std::vector<int32_t>& hidden) {
    for (int64_t p : moved_) put(p, p);
    moved_.clear();
    while (some_.k < all_.k) {
      place_[some_.k] = static_cast<int32_t>(some_.k);
      some_.append(all_[some_.k]);
    }
    int64_t n_visible = all_.k;
    for (const int32_t j : hidden) {
      const int64_t p = place_[j];
      if (p != --n_visible) {
        put(p, number_[n_visible]);
        moved_.push_back(p);
      }
    }
    some_.truncate(n_visible);
    return some_;
  }
  int32_t number(int32_t place) const { return number_[place]; }

 private:
  void put(int64_t p, int32_t number) {
    some_.place(p, all_[number]);
    number_[p] = number;
    place_[number] = static_cast<int32_t>(p);
  }

  const Sites& all_;
  Sites some_;
  std::vector<int32_t> number_, place_;
  std::vector<int64_t> moved_;
};

// Replaces the second-nearest by site j if that is nearer, or as near and older.
void consider(int32_t j, double sq_dist, int32_t& second, double& least) {
  if (sq_dist < least || (sq_dist == least && j < second)) {
    second = j;
    least = sq_dist;
  }
}

// One tile of rows after the other, on one thread.
class SecondNearestSearch {
 public:
  SecondNearestSearch(const Rows& rows, const Sites& sites) : rows_(rows), sites_(sites), others_(sites) {}

  // in row, own (n_rows ≤ TILE,); out second, sq_dist (n_rows,)
  void find(const int64_t* row, const int32_t* own, int n_rows, int32_t* second, double* sq_dist) {
    own_.assign(own, own + n_rows);
    std::sort(own_.begin(), own_.end());
    own_.erase(std::unique(own_.begin(), own_.end()), own_.end());
    const Sites& others = others_.without(own_);
    double next[TILE];
    std::fill_n(sq_dist, n_rows, std::numeric_limits<double>::infinity());
    std::fill_n(second, n_rows, std::numeric_limits<int32_t>::max());
    if (others.k > 0) rows_.nearest({row, 0}, n_rows, others, others.k, scratch_, second, sq_dist, next);
    for (int i = 0; i < n_rows; ++i) {
      if (others.k > 0) second[i] = others_.number(second[i]);
      // Places are not ordered by age: if another site may be as near, all are compared again.
      if (others.k > 1 && may_be_as_near(next[i], sq_dist[i])) scan(row[i], own[i], second[i], sq_dist[i]);
      for (const int32_t j : own_)
        if (j != own[i]) consider(j, rows_.sq_dist(row[i], sites_, j), second[i], sq_dist[i]);
    }
  }

 private:
  bool may_be_as_near(double next, double sq_dist) const {
    const double lower = exact::safe_dist(next, rows_.d);
    return !(lower * lower > (1.0 + 1e-9) * sq_dist);
  }

  void scan(int64_t row, int32_t own, int32_t& second, double& least) {
    double panel[PANEL];
    rows_.focus(row, scratch_);
    for (int64_t p = 0; p < sites_.n_panels(); ++p) {
      rows_.sq_dist_panel(scratch_, sites_, p, panel);
      for (int64_t j = p * PANEL; j < std::min(sites_.k, (p + 1) * PANEL); ++j)
        if (j != own) consider(static_cast<int32_t>(j), panel[j - p * PANEL], second, least);
    }
  }

  const Rows& rows_;
  const Sites& sites_;
  Others others_;
  std::vector<int32_t> own_;
  Scratch scratch_;
};

constexpr int64_t WORTH_A_TREE = 256;

void search_tree(const Rows& rows, RowList list, const SiteTree& tree, int n_threads, int32_t* second, double* sq_dist) {
  for_tiles(0, list.n, n_threads, [&](Scratch& scratch, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Nearest found{.own = list.cluster[i]};
      rows.focus(list.row[i], scratch);
      tree.search(scratch.z.data(), found);
      second[i] = found.label;
      sq_dist[i] = found.sq_dist;
    }
  });
}

// Positions in the list, rows of a cluster together: one choice of sites then serves a whole tile.
std::vector<int64_t> by_cluster(RowList list, int64_t k, int n_threads) {
  constexpr int64_t MOST_PARTS = 64;
  const int64_t size = std::max(4 * k, n_blocks(list.n, MOST_PARTS)), n_parts = n_blocks(list.n, size);
  std::vector<int64_t> next(n_parts * k, 0), position(list.n);  // next (n_parts, k)
  const auto for_listed = [&](auto visit) {
    parallel_for(n_parts, size, n_threads, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p)
        for (int64_t i = p * size; i < std::min(list.n, (p + 1) * size); ++i) visit(next[p * k + list.cluster[i]]++, i);
    });
  };
  for_listed([](int64_t, int64_t) {});
  int64_t n_before = 0;
  for (int64_t j = 0; j < k; ++j)
    for (int64_t p = 0; p < n_parts; ++p) n_before += std::exchange(next[p * k + j], n_before);
  for_listed([&](int64_t place, int64_t i) { position[place] = i; });
  return position;
}

}  // namespace

void second_nearest(const Rows& rows, RowList list, const Sites& sites, int n_threads, int32_t* second, double* sq_dist) {
  // A tree is made in the time of comparing some rows with all sites.
  if (list.n >= WORTH_A_TREE)
    if (TreeOnDemand tree(rows, sites); tree.get()) return search_tree(rows, list, *tree.get(), n_threads, second, sq_dist);
  const std::vector<int64_t> position = by_cluster(list, sites.k, n_threads);
  Blocks(n_blocks(list.n, BLOCK)).run(n_threads, [&](Worker& worker) {
    SecondNearestSearch search(rows, sites);
    int64_t row[TILE];
    int32_t own[TILE], found[TILE];
    double near[TILE];
    for (int64_t b; (b = worker.next()) >= 0;) {
      const int64_t block_end = std::min(list.n, (b + 1) * BLOCK);
      for (int64_t begin = b * BLOCK; begin < block_end && worker.go_on(); begin += TILE) {
        const int m = static_cast<int>(std::min<int64_t>(TILE, block_end - begin));
        for (int i = 0; i < m; ++i) {
          row[i] = list.row[position[begin + i]];
          own[i] = list.cluster[position[begin + i]];
        }
        search.find(row, own, m, found, near);
        for (int i = 0; i < m; ++i) {
          second[position[begin + i]] = found[i];
          sq_dist[position[begin + i]] = near[i];
        }
      }
    }
  });
}

}  // namespace kfree
