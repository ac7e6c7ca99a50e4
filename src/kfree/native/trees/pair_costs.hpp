// The change of free energy by merging two clusters, which greedy merging evaluates for many pairs.
#pragma once
#include <cstdint>
#include <vector>

namespace kfree {

// A cluster is named by its smallest row. Costs omit terms that are the same for every pair.
class PairCosts {
 public:
  virtual ~PairCosts() = default;
  // Makes `a` the current cluster (the asker), to be compared with some of `others`.
  virtual void ask(int64_t a, const std::vector<int64_t>& others) = 0;
  // out floor (n,): lower bounds on the cost of merging the asker with each of `others`; the cost itself where
  // floor_is_cost says so.
  virtual void floors(const int64_t* others, int64_t n, double* floor) const = 0;
  virtual bool floor_is_cost(int64_t b) const = 0;
  // out cost (n,): of merging the asker with each of `others`, for which a floor is not enough. The same bits with the
  // roles exchanged, and whatever the other pairs.
  virtual void costs(const int64_t* others, int64_t n, double* cost) const = 0;
  // Cluster a takes over the rows of b; a < b.
  virtual void absorb(int64_t a, int64_t b) = 0;
  // About how many operations a floor takes: below a certain amount of work, threads are not faster.
  virtual int64_t work() const = 0;
};

}  // namespace kfree
