// Passes for splitting all clusters in parallel: each row is compared with the two sites of its cluster only.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "assign/passes.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

// Listed rows are summed up by row number, so that sums do not depend on a row's place in the list.
void require_ascending(bool ascending) {
  if (!ascending) throw std::invalid_argument("listed rows must be in ascending order, each once");
}

// Whether the places begin…end−1 of the list hold rows from first to last − 1, in ascending order.
bool ascending(RowList list, int64_t begin, int64_t end, int64_t first, int64_t last) {
  if (begin >= end) return begin == end;
  int64_t n_descents = 0;
  for (int64_t i = begin + 1; i < end; ++i) n_descents += list.row[i] <= list.row[i - 1];
  return n_descents == 0 && list.row[begin] >= first && list.row[end - 1] < last;
}

// Squared distances of listed rows to the two sites of their pairs, some rows at a time.
class PairDists {
 public:
  PairDists(const Rows& rows, const Sites& sites) : rows_(rows), sites_(sites) {}

  // out first, second (n,)
  void operator()(const int64_t* row, const int32_t* pair, int64_t n, double* first, double* second) {
    for (int64_t begin = 0; begin < n; begin += AT_ONCE) {
      const int64_t m = std::min(AT_ONCE, n - begin);
      const auto distances = rows_.d < INTERLEAVED_COLUMNS ? &PairDists::one_by_one : &PairDists::interleaved;
      (this->*distances)(row + begin, pair + begin, m, first + begin, second + begin);
    }
  }

 private:
  void one_by_one(const int64_t* row, const int32_t* pair, int64_t n, double* first, double* second) {
    for (int64_t i = 0; i < n; ++i) site_[i] = 2 * pair[i];
    rows_.sq_dists({row, 0}, n, sites_, site_, first);
    for (int64_t i = 0; i < n; ++i) ++site_[i];
    rows_.sq_dists({row, 0}, n, sites_, site_, second);
  }

  // Both sites of a row at once: they are neighbours in memory, and the row is still in the first-level cache.
  void interleaved(const int64_t* row, const int32_t* pair, int64_t n, double* first, double* second) {
    for (int64_t i = 0; i < n; ++i) {
      row_[2 * i] = row_[2 * i + 1] = row[i];
      site_[2 * i] = 2 * pair[i];
      site_[2 * i + 1] = 2 * pair[i] + 1;
    }
    rows_.sq_dists({row_, 0}, 2 * n, sites_, site_, sq_dist_);
    for (int64_t i = 0; i < n; ++i) {
      first[i] = sq_dist_[2 * i];
      second[i] = sq_dist_[2 * i + 1];
    }
  }

  // Up to 15 columns, that many rows fit the first-level cache anyway.
  static constexpr int64_t AT_ONCE = 256, INTERLEAVED_COLUMNS = 16;
  const Rows& rows_;
  const Sites& sites_;
  int64_t row_[2 * AT_ONCE];
  int32_t site_[2 * AT_ONCE];
  double sq_dist_[2 * AT_ONCE];
};

// For each run of listed rows: the squared distances to the two sites of their clusters, and the values of `weigh` for
// them is added up.
template <class Weigh>
void for_pairs(const Rows& rows, RowList list, const Sites& sites, int n_threads, StatsOut out, Weigh weigh) {
  const int64_t begin_block = list.n ? list.row[0] / BLOCK : 0;
  const int64_t end_block = list.n ? list.row[list.n - 1] / BLOCK + 1 : 0;
  require_ascending(begin_block <= end_block);
  Stats stats(rows, out, begin_block, end_block, n_threads);
  const auto place = [&](int64_t run) {
    if (run == 0) return int64_t{0};
    return std::lower_bound(list.row, list.row + list.n, stats.run_begin(run) * BLOCK) - list.row;
  };
  Blocks(stats.n_runs()).run(n_threads, [&](Worker& worker) {
    PairDists pair_dists(rows, sites);
    std::vector<double> first, second;
    for (int64_t run; (run = worker.next()) >= 0;) {
      const int64_t begin = place(run), end = run + 1 == stats.n_runs() ? list.n : place(run + 1), m = end - begin;
      require_ascending(ascending(list, begin, end, stats.run_begin(run) * BLOCK, stats.run_begin(run + 1) * BLOCK));
      const RowSet set = {list.row + begin, 0};
      first.resize(m), second.resize(m);
      pair_dists(set.index, list.cluster + begin, m, first.data(), second.data());
      stats.add(run, weigh(set, begin, m, first.data(), second.data()));
    }
  });
  stats.finish();
}

}  // namespace

void choose(const Rows& rows, RowList list, const Sites& sites, int n_threads, int32_t* label, StatsOut out) {
  for_pairs(rows, list, sites, n_threads, out,
            [&](RowSet set, int64_t begin, int64_t m, double* first, const double* second) {
              for (int64_t i = 0; i < m; ++i) {
                const bool to_second = second[i] < first[i];
                label[begin + i] = 2 * list.cluster[begin + i] + to_second;
                if (to_second) first[i] = second[i];
              }
              return Weighed{set, m, label + begin, first};
            });
}

void scatter_product(const Rows& rows, RowList list, const Sites& sites, int n_threads, StatsOut out) {
  for_pairs(rows, list, sites, n_threads, out,
            [&](RowSet set, int64_t begin, int64_t m, const double* first, double* second) {
              for (int64_t i = 0; i < m; ++i) second[i] = rows.weight(set[i]) * (second[i] - first[i]);
              return Weighed{set, m, list.cluster + begin, first, second};
            });
}

}  // namespace kfree
