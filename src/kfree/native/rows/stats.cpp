#include "rows/stats.hpp"

#include <algorithm>

#include "core/pairs.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

// Rows that are added up cluster by cluster come in runs of up to 2^MOST_LEVEL blocks: few nodes to join, and rows that
// the last-level cache still holds. So many runs for each thread, as long as there are blocks, that none waits for another.
constexpr int MOST_LEVEL = 2;
constexpr int64_t RUNS_PER_THREAD = 8;
// From so many columns on, and if the sums of all clusters do not fit a second-level cache, rows are sorted and added up
// cluster by cluster: sorting costs less then.
constexpr int64_t BY_CLUSTER_COLUMNS = 256, CACHED_SUMS = 1 << 17;
// Up to so many clusters, a block of rows most likely has rows of each: all have a record, numbered like the cluster.
constexpr int64_t FEW_CLUSTERS = 64;

// The rows of `some` among begin…end−1.
Weighed within(const Weighed& some, int64_t begin, int64_t end) {
  const auto place = [&](int64_t row) {
    return some.rows.index ? std::lower_bound(some.rows.index, some.rows.index + some.n, row) - some.rows.index
                           : std::clamp<int64_t>(row - some.rows.first, 0, some.n);
  };
  const int64_t first = place(begin);
  const RowSet rows = {some.rows.index ? some.rows.index + first : nullptr, some.rows.first + first};
  return {rows, place(end) - first, some.label + first, some.sq_dist + first, some.weight ? some.weight + first : nullptr};
}

}  // namespace

Stats::Stats(const Rows& rows, StatsOut out, int64_t begin, int64_t end, int n_threads)
    : rows_(rows), out_(out), begin_(begin), end_(end), n_threads_(n_threads),
      tree_(rows.first_block + begin, rows.first_block + end),
      by_cluster_(rows.d >= BY_CLUSTER_COLUMNS && rows.d * out.k > CACHED_SUMS) {
  while (by_cluster_ && level_ < MOST_LEVEL && (end - begin) >> (level_ + 1) >= RUNS_PER_THREAD * n_threads) ++level_;
  first_run_ = (rows.first_block + begin) >> level_;
  if (begin < end) n_runs_ = run_of(end - 1) + 1;
}

int64_t Stats::run_begin(int64_t run) const {
  return std::clamp(((first_run_ + run) << level_) - rows_.first_block, begin_, end_);
}

void Stats::add_all(const int32_t* label, const double* sq_dist) {
  Blocks(n_runs_).run(n_threads_, [&](Worker& worker) {
    for (int64_t run; (run = worker.next()) >= 0;) {
      const int64_t begin = run_begin(run) * BLOCK, end = std::min(rows_.n, run_begin(run + 1) * BLOCK);
      add(run, {{nullptr, begin}, end - begin, label + begin, sq_dist + begin});
    }
  });
}

void Stats::add(int64_t run, const Weighed& some) {
  // A run that is cut off at an end of the rows is not one node, but a few.
  for (const TreeNode& node : nodes_covering(rows_.first_block + run_begin(run), rows_.first_block + run_begin(run + 1)))
    add(node, within(some, (node.begin() - rows_.first_block) * BLOCK, (node.end() - rows_.first_block) * BLOCK));
}

void Stats::add(TreeNode node, const Weighed& some) {
  if (some.n == 0) return tree_.put(node, nullptr);
  if (by_cluster_) return tree_.put(node, add_by_cluster(node, some));
  for (int64_t block = node.begin(); block < node.end(); ++block) {
    const int64_t begin = (block - rows_.first_block) * BLOCK;
    tree_.put({0, block}, add_block(within(some, begin, begin + BLOCK)));
  }
}

std::unique_ptr<ClusterSums> Stats::add_block(const Weighed& some) {
  if (some.n == 0) return nullptr;
  auto sums = fresh_sums(tree_, rows_.buffers(), out_.k, width());
  int32_t found[BLOCK];
  double own[BLOCK];
  const int32_t* record = some.label;
  if (out_.k <= FEW_CLUSTERS) {
    sums->open_all();
  } else {
    for (int64_t i = 0; i < some.n; ++i) found[i] = sums->record_of(some.label[i]);
    record = found;
  }
  const double* weight = some.weight;
  if (!weight && rows_.weighted()) {
    for (int64_t i = 0; i < some.n; ++i) own[i] = rows_.weight(some.rows[i]);
    weight = own;
  }
  rows_.add(some.rows, some.n, weight, some.sq_dist, record, sums->records());
  return sums;
}

std::unique_ptr<ClusterSums> Stats::add_by_cluster(TreeNode node, const Weighed& some) {
  auto sums = fresh_sums(tree_, rows_.buffers(), out_.k, width(), some.n);
  std::vector<int32_t> record(some.n);
  std::vector<int64_t> next(std::min(some.n, out_.k) + 2, 0), row(some.n);
  std::vector<double> weight(some.n), sq_dist(some.n);
  for (int64_t i = 0; i < some.n; ++i) {
    record[i] = sums->record_to_fill(some.label[i]);
    ++next[record[i] + 2];
  }
  const auto n_clusters = static_cast<int64_t>(sums->touched().size());
  for (int64_t r = 0; r < n_clusters; ++r) next[r + 2] += next[r + 1];
  for (int64_t i = 0; i < some.n; ++i) {
    const int64_t place = next[record[i] + 1]++;
    row[place] = some.rows[i];
    weight[place] = some.weight ? some.weight[i] : rows_.weight(some.rows[i]);
    sq_dist[place] = some.sq_dist[i];
  }
  std::vector<char> is_known;
  if (known_.is_known)
    for (const int32_t j : sums->touched()) is_known.push_back(known_.is_known[j]);
  rows_.add_up({n_clusters, next.data(), row.data(), weight.data(), sq_dist.data(),
                known_.is_known ? is_known.data() : nullptr, node.level},
               sums->records());
  return sums;
}

void Stats::finish() {
  const int64_t d = rows_.d;
  const std::vector<TreeNode> wanted = out_.by_node ? rows_.nodes() : std::vector<TreeNode>();
  const std::vector<double> zeros(width(), 0.0);
  kfree::finish(tree_, wanted, out_.k, width(), n_threads_, [&](int64_t p, int64_t j, const double* record) {
    if (!record) record = zeros.data();
    const int64_t place = p * out_.k + j;
    out_.n[place] = record[0];
    out_.sse[place] = record[1];
    const bool is_known = known_.is_known && known_.is_known[j];
    std::copy_n(is_known ? known_.sum + j * d : record + 2, d, out_.sum + place * d);
  });
}

}  // namespace kfree
