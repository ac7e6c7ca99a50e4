#include <algorithm>

#include "core/parallel.hpp"
#include "core/partners.hpp"
#include "graph/cut.hpp"

namespace kfree {
namespace {

// Merges neighbours in a graph, the cheapest pair first.
class Merger {
 public:
  Merger(const Graph& g, const GoOn& go_on)
      : go_on_(go_on), out_(g.out, g.out + g.n), volume_(g.volume, g.volume + g.n), keeper_(g.n), links_(g.n),
        partners_(g.n), total_(g.n, 0.0), seen_(g.n, 0) {
    for (int32_t a = 0; a < g.n; ++a) {
      keeper_[a] = a;
      for (int64_t e = g.begin[a]; e < g.begin[a + 1]; ++e) links_[a].push_back({g.neighbour[e], g.weight[e]});
    }
    for (int32_t a = 0; a < g.n; ++a) look(a);
  }

  int64_t run(double below, int64_t* pairs, double* cost) {
    int64_t n_merges = 0;
    for (;;) {
      const MergePair pair = partners_.first([&](int64_t a) { look(static_cast<int32_t>(a)); });
      if (!(pair.cost < below)) break;
      if (n_merges % 256 == 0 && !go_on_()) throw Interrupted();
      pairs[2 * n_merges] = pair.a;
      pairs[2 * n_merges + 1] = pair.b;
      cost[n_merges++] = pair.cost;
      merge(static_cast<int32_t>(pair.a), static_cast<int32_t>(pair.b));
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

  void look(int32_t a) {
    tidy(a);
    MergePair best;
    for (const auto [b, weight] : links_[a])
      if (const MergePair pair = MergePair::of(a, b, merge_cost(a, b, weight)); pair.before(best)) best = pair;
    partners_.set(a, best);
  }

  void merge(int32_t kept, int32_t gone) {
    if (links_[kept].size() < links_[gone].size()) std::swap(links_[kept], links_[gone]);
    links_[kept].insert(links_[kept].end(), links_[gone].begin(), links_[gone].end());
    links_[gone] = {};
    keeper_[gone] = kept;
    partners_.remove(gone);
    out_[kept] += out_[gone] - tidy(kept);
    volume_[kept] += volume_[gone];
    look(kept);
    for (const auto [x, weight] : links_[kept]) {
      const bool taken = partners_.offer(x, MergePair::of(x, kept, merge_cost(x, kept, weight)));
      if (!taken && (partners_.has(x, kept) || partners_.has(x, gone))) partners_.out_of_date(x);
    }
  }

  const GoOn& go_on_;
  std::vector<double> out_, volume_;
  std::vector<int32_t> keeper_;
  std::vector<std::vector<Link>> links_;  // they may name clusters that have merged since
  Partners partners_;
  std::vector<double> total_;  // scratch of tidy
  std::vector<char> seen_;
};

}  // namespace

int64_t merge_neighbours(const Graph& graph, double below, int64_t* pairs, double* cost, const GoOn& go_on) {
  return Merger(graph, go_on).run(below, pairs, cost);
}

}  // namespace kfree
