#include "cut.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "parallel.hpp"

namespace kfree {
namespace {

constexpr int64_t BETWEEN_QUESTIONS = 1024;

class Mover {
 public:
  Mover(const Graph& graph, const MoveRules& rules, const int64_t* order, const int32_t* block, int32_t* label,
        const GoOn& go_on)
      : g_(graph), rules_(rules), order_(order), block_(block), label_(label), go_on_(go_on), size_(g_.n, 0),
        out_(g_.n, 0.0), volume_(g_.n, 0.0), rate_(g_.n, 0.0), links_(g_.n, 0.0), seen_(g_.n, 0), queued_(g_.n, 0) {
    for (int64_t i = 0; i < g_.n; ++i) {
      ++size_[label[i]];
      volume_[label[i]] += g_.volume[i];
      for (int64_t e = g_.begin[i]; e < g_.begin[i + 1]; ++e)
        if (label[g_.neighbour[e]] != label[i]) out_[label[i]] += g_.weight[e];
    }
    for (int64_t c = g_.n; c-- > 0;) {
      if (size_[c]) rate_[c] = out_[c] / volume_[c];
      else empty_.push_back(static_cast<int32_t>(c));
    }
  }

  int64_t run() {
    int64_t total = 0;
    for (int64_t moved = -1; moved; total += moved) {
      if (rules_.thorough) find_hosts();
      moved = round();
      if (!rules_.thorough) return moved;
    }
    return total;
  }

 private:
  struct Place {
    double change;
    int32_t cluster;
  };

  int64_t round() {
    int64_t moved = 0, asked = 0;
    queue_.assign(order_, order_ + g_.n);
    std::fill(queued_.begin(), queued_.end(), 1);
    while (!queue_.empty()) {
      if (asked++ % BETWEEN_QUESTIONS == 0 && !go_on_()) throw Interrupted();
      const int64_t i = queue_.front();
      queue_.pop_front();
      queued_[i] = 0;
      moved += look(i);
    }
    return moved;
  }

  bool look(int64_t i) {
    const int32_t own = label_[i];
    gather(i);
    const Place best = best_place(i, own);
    const bool gains = leaving(i, own) + best.change < -rules_.least_gain;
    if (gains) move(i, own, best.cluster);
    for (const int32_t c : touched_) {
      links_[c] = 0.0;
      seen_[c] = 0;
    }
    return gains;
  }

  // The node's links to each cluster around it.
  void gather(int64_t i) {
    touched_.clear();
    for (int64_t e = g_.begin[i]; e < g_.begin[i + 1]; ++e) {
      const int32_t j = g_.neighbour[e];
      if (block_[j] != block_[i]) continue;
      const int32_t c = label_[j];
      if (!seen_[c]) {
        seen_[c] = 1;
        touched_.push_back(c);
      }
      links_[c] += g_.weight[e];
    }
  }

  double leaving(int64_t i, int32_t own) const {
    if (size_[own] == 1) return -rate_[own] - rules_.lam;
    return (out_[own] - g_.out[i] + 2 * links_[own]) / (volume_[own] - g_.volume[i]) - rate_[own];
  }

  double joining(int64_t i, int32_t c) const {
    return (out_[c] + g_.out[i] - 2 * links_[c]) / (volume_[c] + g_.volume[i]) - rate_[c];
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
        if (c != own && size_[c]) offer(joining(i, c), c);
    if (size_[own] > 1) offer(g_.out[i] / g_.volume[i] + rules_.lam, empty_.back());
    return best.cluster < 0 ? Place{-leaving(i, own), own} : best;
  }

  void move(int64_t i, int32_t from, int32_t to) {
    if (!size_[to]) empty_.pop_back();
    out_[from] += 2 * links_[from] - g_.out[i];
    out_[to] += g_.out[i] - 2 * links_[to];
    volume_[from] -= g_.volume[i];
    volume_[to] += g_.volume[i];
    ++size_[to];
    rate_[to] = out_[to] / volume_[to];
    if (--size_[from]) {
      rate_[from] = out_[from] / volume_[from];
    } else {
      out_[from] = volume_[from] = 0.0;
      empty_.push_back(from);
    }
    label_[i] = to;
    for (int64_t e = g_.begin[i]; e < g_.begin[i + 1]; ++e) {
      const int32_t j = g_.neighbour[e];
      if (queued_[j] || label_[j] == to || block_[j] != block_[i]) continue;
      queued_[j] = 1;
      queue_.push_back(j);
    }
  }

  // A node without links to a cluster adds (out_i − rate·volume_i) / (volume + volume_i) to the cost by joining. That
  // is least for a cluster which no other exceeds in rate and in volume, or in rate while falling short in volume.
  void find_hosts() {
    std::vector<int32_t> by_rate;
    for (int32_t c = 0; c < g_.n; ++c)
      if (size_[c]) by_rate.push_back(c);
    std::ranges::stable_sort(by_rate, std::greater{}, [&](int32_t c) { return rate_[c]; });
    hosts_.clear();
    double largest = 0.0, smallest = 0.0;
    for (const int32_t c : by_rate) {
      if (!hosts_.empty() && volume_[c] <= largest && volume_[c] >= smallest) continue;
      largest = hosts_.empty() ? volume_[c] : std::max(largest, volume_[c]);
      smallest = hosts_.empty() ? volume_[c] : std::min(smallest, volume_[c]);
      hosts_.push_back(c);
    }
  }

  const Graph& g_;
  const MoveRules& rules_;
  const int64_t* order_;
  const int32_t* block_;
  int32_t* label_;
  const GoOn& go_on_;
  std::vector<int64_t> size_;
  std::vector<double> out_, volume_, rate_, links_;  // of clusters; links_ are those of the node in hand
  std::vector<char> seen_, queued_;
  std::vector<int32_t> touched_, empty_, hosts_;
  std::deque<int64_t> queue_;
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
