// Where a row would go if its own cluster were gone.
#include <algorithm>
#include <limits>
#include <numeric>

#include "block_stats.hpp"
#include "parallel.hpp"

namespace kfree {
namespace {

// Rows of one cluster, so that one set of sites serves them all.
struct Task {
  int32_t cluster;
  int64_t begin, end;
};

// The sites without one of them: the last takes its place.
class Others {
 public:
  explicit Others(const Sites& all) : all_(all), some_(all.centre.data(), all.k - 1, all.d), last_(all.k - 1) {}

  const Sites& without(int32_t j) {
    if (away_ != j) {
      if (0 <= away_ && away_ < last_) some_.replace(away_, all_[away_]);
      if (0 <= j && j < last_) some_.replace(j, all_[last_]);
      away_ = j;
    }
    return some_;
  }
  int32_t number(int32_t place) const { return place == away_ ? last_ : place; }

 private:
  const Sites& all_;
  Sites some_;
  const int32_t last_;
  int32_t away_ = -1;
};

}  // namespace

void rivals(const Rows& rows, RowList list, const Sites& sites, int n_threads, int32_t* rival, double* sq_dist) {
  std::vector<int64_t> first(sites.k + 1, 0), position(list.n);
  for (int64_t i = 0; i < list.n; ++i) ++first[list.cluster[i] + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<int64_t> next(first.begin(), first.end() - 1);
  for (int64_t i = 0; i < list.n; ++i) position[next[list.cluster[i]]++] = i;
  std::vector<Task> tasks;
  for (int64_t j = 0; j < sites.k; ++j)
    for (int64_t begin = first[j]; begin < first[j + 1]; begin += BLOCK)
      tasks.push_back({static_cast<int32_t>(j), begin, std::min(first[j + 1], begin + BLOCK)});

  Blocks(static_cast<int64_t>(tasks.size())).run(n_threads, [&](Worker& worker) {
    Others others(sites);
    Scratch scratch;
    int64_t row[TILE];
    int32_t nearest[TILE];
    double near[TILE], lower[TILE];
    for (int64_t b; (b = worker.next()) >= 0;) {
      const Task task = tasks[b];
      const Sites& candidates = others.without(task.cluster);
      for (int64_t begin = task.begin; begin < task.end && worker.go_on(); begin += TILE) {
        const int m = static_cast<int>(std::min<int64_t>(TILE, task.end - begin));
        for (int i = 0; i < m; ++i) row[i] = list.row[position[begin + i]];
        rows.nearest({row, 0}, m, candidates, candidates.k, scratch, nearest, near, lower);
        for (int i = 0; i < m; ++i) {
          rival[position[begin + i]] = others.number(nearest[i]);
          sq_dist[position[begin + i]] = near[i];
        }
      }
    }
  });
}

}  // namespace kfree
