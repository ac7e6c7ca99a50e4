#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "graph/cut.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

constexpr double NEVER = std::numeric_limits<double>::infinity();
constexpr int32_t NOBODY = -1;

// Every cluster stores its cheapest neighbour. One that loses it to a merge keeps the old cost as a lower bound, and
// the search is repeated when that bound is the lowest of all.
class Merger {
 public:
  Merger(const Graph& g, const GoOn& go_on)
      : go_on_(go_on), out_(g.out, g.out + g.n), volume_(g.volume, g.volume + g.n), keeper_(g.n), links_(g.n),
        cost_of_pair_(g.n, NEVER), partner_(g.n, NOBODY), version_(g.n, 0), stale_(g.n, 0), total_(g.n, 0.0),
        seen_(g.n, 0) {
    for (int32_t a = 0; a < g.n; ++a) {
      keeper_[a] = a;
      for (int64_t e = g.begin[a]; e < g.begin[a + 1]; ++e) links_[a].push_back({g.neighbour[e], g.weight[e]});
    }
    for (int32_t a = 0; a < g.n; ++a) look(a);
  }

  int64_t run(double below, int64_t* pairs, double* cost) {
    int64_t n_merges = 0;
    while (!heap_.empty()) {
      const auto [penalty, a, b, version] = heap_.top();
      heap_.pop();
      if (version != version_[a]) continue;
      if (stale_[a]) {
        look(a);
        continue;
      }
      if (!(penalty < below)) break;
      if (n_merges % 256 == 0 && !go_on_()) throw Interrupted();
      const auto [kept, gone] = std::minmax(a, b);
      pairs[2 * n_merges] = kept;
      pairs[2 * n_merges + 1] = gone;
      cost[n_merges++] = penalty;
      merge(kept, gone);
    }
    return n_merges;
  }

 private:
  struct Link {
    int32_t to;
    double weight;
  };

  int32_t find(int32_t a) {
    while (keeper_[a] != a) a = keeper_[a] = keeper_[keeper_[a]];
    return a;
  }

  double merge_cost(int32_t a, int32_t b, double weight) const {
    return (out_[a] + out_[b] - 2 * weight) / (volume_[a] + volume_[b]) -
           (out_[a] / volume_[a] + out_[b] / volume_[b]);
  }

  // Updates the links of a, each neighbour once. Returns the weight of links within a.
  double tidy(int32_t a) {
    double within = 0.0;
    std::vector<Link>& links = links_[a];
    size_t end = 0;
    for (const auto [to, weight] : links) {
      const int32_t b = find(to);
      if (b == a) {
        within += weight;
        continue;
      }
      if (!seen_[b]) {
        seen_[b] = 1;
        links[end++].to = b;
      }
      total_[b] += weight;
    }
    links.resize(end);
    for (Link& link : links) {
      link.weight = total_[link.to];
      total_[link.to] = 0.0;
      seen_[link.to] = 0;
    }
    return within;
  }

  static bool before(double cost, int32_t a, int32_t b, double than, int32_t c, int32_t d) {
    const auto [a1, a2] = std::minmax(a, b);
    const auto [c1, c2] = std::minmax(c, d);
    return std::tuple(cost, a1, a2) < std::tuple(than, c1, c2);
  }

  void look(int32_t a) {
    tidy(a);
    cost_of_pair_[a] = NEVER;
    partner_[a] = NOBODY;
    for (const auto [b, weight] : links_[a]) {
      const double cost = merge_cost(a, b, weight);
      if (before(cost, a, b, cost_of_pair_[a], a, partner_[a])) {
        cost_of_pair_[a] = cost;
        partner_[a] = b;
      }
    }
    settle(a);
  }

  void settle(int32_t a) {
    stale_[a] = 0;
    ++version_[a];
    if (partner_[a] != NOBODY) heap_.push({cost_of_pair_[a], a, partner_[a], version_[a]});
  }

  void merge(int32_t kept, int32_t gone) {
    if (links_[kept].size() < links_[gone].size()) std::swap(links_[kept], links_[gone]);
    links_[kept].insert(links_[kept].end(), links_[gone].begin(), links_[gone].end());
    links_[gone] = {};
    keeper_[gone] = kept;
    ++version_[gone];
    out_[kept] += out_[gone] - tidy(kept);
    volume_[kept] += volume_[gone];
    look(kept);
    for (const auto [x, weight] : links_[kept]) {
      const double cost = merge_cost(x, kept, weight);
      if (before(cost, x, kept, cost_of_pair_[x], x, partner_[x])) {
        cost_of_pair_[x] = cost;
        partner_[x] = kept;
        settle(x);
      } else if (partner_[x] == kept || partner_[x] == gone) {
        stale_[x] = 1;
      }
    }
  }

  struct Entry {
    double penalty;
    int32_t a, b;
    int64_t version;
    bool operator>(const Entry& other) const { return before(other.penalty, other.a, other.b, penalty, a, b); }
  };

  const GoOn& go_on_;
  std::vector<double> out_, volume_;
  std::vector<int32_t> keeper_;
  std::vector<std::vector<Link>> links_;  // they may name clusters that have merged since
  std::vector<double> cost_of_pair_;
  std::vector<int32_t> partner_;
  std::vector<int64_t> version_;
  std::vector<char> stale_;
  std::vector<double> total_;  // scratch of tidy
  std::vector<char> seen_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

}  // namespace

int64_t merge_neighbours(const Graph& graph, double below, int64_t* pairs, double* cost, const GoOn& go_on) {
  return Merger(graph, go_on).run(below, pairs, cost);
}

}  // namespace kfree
