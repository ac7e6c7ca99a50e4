// Every group chooses its sites: all groups, on all threads.
#include "groups/hdp.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "core/parallel.hpp"
#include "core/sum_tree.hpp"
#include "groups/choice.hpp"

namespace kfree {
namespace {

// What deleting each site would cost some of the groups.
struct GroupCosts {
  std::vector<double> of;  // (k,)

  void join(const GroupCosts& right) {
    for (size_t j = 0; j < of.size(); ++j) of[j] += right.of[j];
  }
};

}  // namespace

void allot(const Rows& rows, Groups groups, const Sites& sites, double lam_local, int n_threads, bool* used,
           int32_t* label, double* sq_dist, DeletionCosts deletion_costs) {
  if (deletion_costs.cost) std::fill_n(deletion_costs.cost, sites.k, 0.0);
  if (deletion_costs.cost) std::fill_n(deletion_costs.successor, sites.k * sites.k, false);
  SumTree<GroupCosts> tree(0, groups.n);
  std::mutex joining;
  Blocks(groups.n).run(n_threads, [&](Worker& worker) {
    groups::Choice choice(rows, sites, lam_local);
    const int64_t n_pairs = deletion_costs.cost ? sites.k * sites.k : 0;
    const auto successor = std::make_unique<bool[]>(n_pairs);
    for (int64_t g; (g = worker.next()) >= 0;) {
      choice.make(groups.member + groups.begin[g], groups.begin[g + 1] - groups.begin[g], used + g * sites.k);
      choice.label(label, sq_dist);
      if (!deletion_costs.cost) continue;
      auto costs = tree.spare();
      if (!costs) costs = std::make_unique<GroupCosts>();
      costs->of.assign(sites.k, 0.0);
      choice.add_to(costs->of.data(), successor.get());
      tree.put({0, g}, std::move(costs));
    }
    std::lock_guard lock(joining);
    for (int64_t i = 0; i < n_pairs; ++i) deletion_costs.successor[i] |= successor[i];
  });
  if (const auto total = tree.total()) std::copy(total->of.begin(), total->of.end(), deletion_costs.cost);
}

void seconds(const Rows& rows, Groups groups, const Sites& sites, int n_threads, const bool* used,
             const int32_t* label, int32_t* second, double* sq_dist) {
  Blocks(groups.n).run(n_threads, [&](Worker& worker) {
    for (int64_t g; (g = worker.next()) >= 0;)
      for (int64_t i = groups.begin[g]; i < groups.begin[g + 1]; ++i) {
        const int64_t row = groups.member[i];
        second[row] = -1;
        sq_dist[row] = groups::FAR;
        for (int32_t q = 0; q < sites.k; ++q) {
          if (!used[g * sites.k + q] || q == label[row]) continue;
          const double gap = rows.sq_dist(row, sites, q);
          if (gap < sq_dist[row]) {
            second[row] = q;
            sq_dist[row] = gap;
          }
        }
      }
  });
}

}  // namespace kfree
