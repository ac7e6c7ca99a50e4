#include "graph/cut.hpp"

#include <algorithm>
#include <numeric>

#include "core/parallel.hpp"

namespace kfree {
namespace {

constexpr int64_t BETWEEN_QUESTIONS = 1024;
// Rounds of a thorough search, and visits of a node in one round on average. Searches end long before; but where weights
// differ by more than float64 has digits, rounding could move nodes to and fro without end.
constexpr int64_t MOST_ROUNDS = 100, MOST_VISITS = 200, ENOUGH_VISITS = 1000;

// Nodes that wait for their turn, each at most once.
class Queue {
 public:
  explicit Queue(int64_t n) : ring_(n), waiting_(n, 0) {}
  bool empty() const { return size_ == 0; }
  void push(int32_t node) {
    if (waiting_[node]) return;
    waiting_[node] = 1;
    ring_[end_] = node;
    if (++end_ == ring_.size()) end_ = 0;
    ++size_;
  }
  int32_t pop() {
    const int32_t node = ring_[end_ >= size_ ? end_ - size_ : end_ + ring_.size() - size_];
    waiting_[node] = 0;
    --size_;
    return node;
  }

 private:
  std::vector<int32_t> ring_;
  std::vector<char> waiting_;
  size_t end_ = 0, size_ = 0;
};

class Mover {
 public:
  Mover(const Graph& graph, const MoveRules& rules, const int64_t* order, const int32_t* block, int32_t* label,
        const GoOn& go_on)
      : g_(graph), rules_(rules), order_(order), block_(block), label_(label), go_on_(go_on),
        blocked_(std::any_of(block, block + g_.n, [&](int32_t b) { return b != block[0]; })), cluster_(g_.n),
        links_(g_.n, 0.0), queue_(g_.n), visits_(MOST_VISITS * g_.n + ENOUGH_VISITS) {}

  int64_t run() {
    int64_t total = 0;
    for (int64_t n_rounds = 0; n_rounds < (rules_.thorough ? MOST_ROUNDS : 1); ++n_rounds) {
      measure();
      if (rules_.thorough) find_hosts();
      const int64_t moved = round();
      total += moved;
      if (!queue_.empty()) return -total;
      if (!moved || !rules_.thorough) return total;
    }
    return -total;
  }

 private:
  // Adjacent in memory, because they are read together.
  struct Cluster {
    double out = 0.0, volume = 0.0, rate = 0.0;
    int64_t size = 0;
  };
  struct Place {
    double change;
    int32_t cluster;
  };

  // Sums of the clusters as they are: those that nodes join and leave one by one collect rounding.
  void measure() {
    cluster_.assign(g_.n, {});
    empty_.clear();
    for (int64_t i = 0; i < g_.n; ++i) {
      Cluster& own = cluster_[label_[i]];
      ++own.size;
      own.volume += g_.volume[i];
      for (int64_t e = g_.begin[i]; e < g_.begin[i + 1]; ++e)
        if (label_[g_.neighbour[e]] != label_[i]) own.out += g_.weight[e];
    }
    for (int64_t c = g_.n; c-- > 0;) {
      if (cluster_[c].size) cluster_[c].rate = cluster_[c].out / cluster_[c].volume;
      else empty_.push_back(static_cast<int32_t>(c));
    }
  }

  // Leaves nodes in the queue if their visits exceed the limit.
  int64_t round() {
    int64_t moved = 0, asked = 0;
    for (int64_t p = 0; p < g_.n; ++p) queue_.push(static_cast<int32_t>(order_[p]));
    while (!queue_.empty() && asked < visits_) {
      if (asked++ % BETWEEN_QUESTIONS == 0 && !go_on_()) throw Interrupted();
      moved += look(queue_.pop());
    }
    return moved;
  }

  bool look(int64_t i) {
    const int32_t own = label_[i];
    gather(i);
    const Place best = best_place(i, own);
    const bool gains = leaving(i, own) + best.change < -rules_.least_gain;
    if (gains) move(i, own, best.cluster);
    for (const int32_t c : touched_) links_[c] = 0.0;
    return gains;
  }

  bool apart(int64_t i, int32_t j) const { return blocked_ && block_[i] != block_[j]; }

  // The node's links to each cluster around it.
  void gather(int64_t i) {
    touched_.clear();
    for (int64_t e = g_.begin[i]; e < g_.begin[i + 1]; ++e) {
      const int32_t j = g_.neighbour[e];
      if (apart(i, j)) continue;
      const int32_t c = label_[j];
      if (links_[c] == 0.0) touched_.push_back(c);
      links_[c] += g_.weight[e];
    }
  }

  double leaving(int64_t i, int32_t own) const {
    const Cluster& from = cluster_[own];
    if (from.size == 1) return -from.rate - rules_.lam;
    return (from.out - g_.out[i] + 2 * links_[own]) / (from.volume - g_.volume[i]) - from.rate;
  }

  double joining(int64_t i, int32_t c) const {
    const Cluster& to = cluster_[c];
    return (to.out + g_.out[i] - 2 * links_[c]) / (to.volume + g_.volume[i]) - to.rate;
  }

  Place best_place(int64_t i, int32_t own) const {
    Place best{0.0, -1};
    const auto offer = [&](double change, int32_t c) {
      if (best.cluster < 0 || change < best.change) best = {change, c};
    };
    for (const int32_t c : touched_)
      if (c != own) offer(joining(i, c), c);
    if (rules_.thorough)
      for (const int32_t c : hosts_)
        if (c != own && cluster_[c].size) offer(joining(i, c), c);
    if (cluster_[own].size > 1) offer(g_.out[i] / g_.volume[i] + rules_.lam, empty_.back());
    return best.cluster < 0 ? Place{-leaving(i, own), own} : best;
  }

  void move(int64_t i, int32_t own, int32_t other) {
    Cluster &from = cluster_[own], &to = cluster_[other];
    if (!to.size) empty_.pop_back();
    from.out += 2 * links_[own] - g_.out[i];
    to.out += g_.out[i] - 2 * links_[other];
    from.volume -= g_.volume[i];
    to.volume += g_.volume[i];
    ++to.size;
    to.rate = to.out / to.volume;
    if (--from.size) {
      from.rate = from.out / from.volume;
    } else {
      from = {};
      empty_.push_back(own);
    }
    label_[i] = other;
    for (int64_t e = g_.begin[i]; e < g_.begin[i + 1]; ++e) {
      const int32_t j = g_.neighbour[e];
      if (label_[j] != other && !apart(i, j)) queue_.push(j);
    }
  }

  // A node without links to a cluster adds (out_i − rate·volume_i) / (volume + volume_i) to the cost by joining. That
  // is least for a cluster which no other exceeds in rate and in volume, or in rate while falling short in volume.
  void find_hosts() {
    std::vector<int32_t> by_rate;
    for (int32_t c = 0; c < g_.n; ++c)
      if (cluster_[c].size) by_rate.push_back(c);
    std::ranges::stable_sort(by_rate, std::greater{}, [&](int32_t c) { return cluster_[c].rate; });
    hosts_.clear();
    double largest = 0.0, smallest = 0.0;
    for (const int32_t c : by_rate) {
      const double volume = cluster_[c].volume;
      if (!hosts_.empty() && volume <= largest && volume >= smallest) continue;
      largest = hosts_.empty() ? volume : std::max(largest, volume);
      smallest = hosts_.empty() ? volume : std::min(smallest, volume);
      hosts_.push_back(c);
    }
  }

  const Graph& g_;
  const MoveRules& rules_;
  const int64_t* order_;
  const int32_t* block_;
  int32_t* label_;
  const GoOn& go_on_;
  const bool blocked_;
  std::vector<Cluster> cluster_;
  std::vector<double> links_;  // of the node in hand with each cluster
  std::vector<int32_t> touched_, empty_, hosts_;
  Queue queue_;
  const int64_t visits_;  // at most, in one round
};

}  // namespace

int64_t move_nodes(const Graph& graph, const MoveRules& rules, const int64_t* order, const int32_t* block,
                   int32_t* label, const GoOn& go_on) {
  return Mover(graph, rules, order, block, label, go_on).run();
}

void contract(const Graph& graph, const int32_t* label, int64_t k, int64_t* begin, int32_t* neighbour, double* weight,
              double* out) {
  std::vector<int64_t> first(k + 1, 0), member(graph.n);
  for (int64_t i = 0; i < graph.n; ++i) ++first[label[i] + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<int64_t> next(first.begin(), first.end() - 1);
  for (int64_t i = 0; i < graph.n; ++i) member[next[label[i]]++] = i;

  std::vector<int64_t> place(k, -1);  // of each cluster in the list being written
  begin[0] = 0;
  for (int64_t c = 0; c < k; ++c) {
    int64_t end = begin[c];
    for (int64_t p = first[c]; p < first[c + 1]; ++p) {
      for (int64_t e = graph.begin[member[p]]; e < graph.begin[member[p] + 1]; ++e) {
        const int32_t other = label[graph.neighbour[e]];
        if (other == c) continue;
        if (place[other] < begin[c]) {
          place[other] = end;
          neighbour[end] = other;
          weight[end++] = 0.0;
        }
        weight[place[other]] += graph.weight[e];
      }
    }
    begin[c + 1] = end;
    out[c] = std::accumulate(weight + begin[c], weight + end, 0.0);
  }
}

}  // namespace kfree
