#include "rows/cluster_sums.hpp"

#include <algorithm>

#include "core/parallel.hpp"

namespace kfree {
namespace {

// Values that a thread joins at a time.
constexpr int64_t VALUES_AT_ONCE = 1 << 14;

// How nodes of a tree become the sums that are wanted.
struct Plan {
  std::vector<Join> joins;
  std::vector<size_t> place;  // of each wanted sum among the nodes, once joined; ABSENT if no node belongs to it
  static constexpr size_t ABSENT = SIZE_MAX;
};

Plan plan(const std::vector<ClusterTree::Node>& nodes, const std::vector<TreeNode>& wanted) {
  Plan plan;
  size_t first = 0;
  const auto take_until = [&](int64_t end) {
    std::vector<TreeNode> some;
    for (size_t i = first; i < nodes.size() && nodes[i].at.begin() < end; ++i) some.push_back(nodes[i].at);
    for (const Join& join : joins_of(some)) plan.joins.push_back({first + join.into, first + join.from});
    plan.place.push_back(some.empty() ? Plan::ABSENT : first);
    first += some.size();
  };
  for (const TreeNode& node : wanted) take_until(node.end());
  if (wanted.empty()) take_until(INT64_MAX);
  return plan;
}

// record[into] += record[from], where null is nothing.
void join_records(std::vector<double*>& record, const Join& join, int64_t width) {
  double *&into = record[join.into], *from = record[join.from];
  if (!into)
    into = from;
  else if (from)
    for (int64_t t = 0; t < width; ++t) into[t] += from[t];
}

}  // namespace

ClusterSums::ClusterSums(Buffers& buffers, int64_t k, int64_t width, int64_t room)
    : width_(width), room_(std::min(k, room)), record_(k, -1), buffers_(buffers), buffer_(buffers.take(room_ * width)) {}

void ClusterSums::clear() {
  for (const int32_t j : touched_) record_[j] = -1;
  touched_.clear();
}

void ClusterSums::open(int32_t j) {
  const auto n = static_cast<int64_t>(touched_.size());
  if (n == room_) make_room(2 * room_);
  record_[j] = static_cast<int32_t>(n);
  touched_.push_back(j);
}

void ClusterSums::open_all() {
  const auto k = static_cast<int32_t>(record_.size());
  for (int32_t j = 0; j < k; ++j) open(j);
  std::fill_n(records(), k * width_, 0.0);
}

void ClusterSums::make_room(int64_t room) {
  room_ = std::min<int64_t>(room, record_.size());
  Buffer wider = buffers_.take(room_ * width_);
  std::copy_n(records(), touched_.size() * width_, wider.data.get());
  std::swap(buffer_, wider);
  buffers_.give_back(std::move(wider));
}

void ClusterSums::join(const ClusterSums& right) {
  for (size_t r = 0; r < right.touched_.size(); ++r) {
    const double* from = right.buffer_.data.get() + r * width_;
    const bool is_new = record_[right.touched_[r]] < 0;
    const int32_t record = record_to_fill(right.touched_[r]);
    double* into = records() + record * width_;
    for (int64_t t = 0; t < width_ && !is_new; ++t) into[t] += from[t];
    if (is_new) std::copy_n(from, width_, into);
  }
}

std::unique_ptr<ClusterSums> fresh_sums(ClusterTree& tree, Buffers& buffers, int64_t k, int64_t width,
                                        int64_t room) {
  auto sums = tree.spare();
  if (!sums) sums = std::make_unique<ClusterSums>(buffers, k, width, room);
  sums->clear();
  return sums;
}

void finish(ClusterTree& tree, const std::vector<TreeNode>& wanted, int64_t k, int64_t width, int n_threads,
            const std::function<void(int64_t, int64_t, const double*)>& write) {
  std::vector<ClusterTree::Node> nodes = tree.nodes();
  const Plan steps = plan(nodes, wanted);
  const int64_t at_once = std::max<int64_t>(1, VALUES_AT_ONCE / width);
  Blocks(n_blocks(k, at_once)).run(n_threads, [&](Worker& worker) {
    std::vector<double*> record(nodes.size());
    for (int64_t b; (b = worker.next()) >= 0;)
      for (int64_t j = b * at_once; j < std::min(k, (b + 1) * at_once); ++j) {
        for (size_t i = 0; i < nodes.size(); ++i) record[i] = nodes[i].sum ? nodes[i].sum->find(j) : nullptr;
        for (const Join& join : steps.joins) join_records(record, join, width);
        for (size_t p = 0; p < steps.place.size(); ++p)
          write(p, j, steps.place[p] == Plan::ABSENT ? nullptr : record[steps.place[p]]);
      }
  });
}

}  // namespace kfree
