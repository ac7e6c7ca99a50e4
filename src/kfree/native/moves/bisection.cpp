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
  bool all = begin <= end;
  for (int64_t i = begin; i < end; ++i)
    all &= list.row[i] >= (i > begin ? list.row[i - 1] + 1 : first) && list.row[i] < last;
  return all;
}

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
    std::vector<int32_t> site;
    std::vector<double> first, second;
    for (int64_t run; (run = worker.next()) >= 0;) {
      const int64_t begin = place(run), end = run + 1 == stats.n_runs() ? list.n : place(run + 1), m = end - begin;
      require_ascending(ascending(list, begin, end, stats.run_begin(run) * BLOCK, stats.run_begin(run + 1) * BLOCK));
      const RowSet set = {list.row + begin, 0};
      site.resize(m), first.resize(m), second.resize(m);
      for (int64_t i = 0; i < m; ++i) site[i] = 2 * list.cluster[begin + i];
      rows.sq_dists(set, m, sites, site.data(), first.data());
      for (int64_t i = 0; i < m; ++i) ++site[i];
      rows.sq_dists(set, m, sites, site.data(), second.data());
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
