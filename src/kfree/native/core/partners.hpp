// For every cluster the cheapest one to merge with, and the cheapest pair of all, while clusters merge.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace kfree {

// Two clusters and what merging them costs. Of two pairs the cheaper comes first, on ties the one with smaller names.
struct MergePair {
  int64_t a = -1, b = -1;
  double cost = std::numeric_limits<double>::infinity();
  static MergePair of(int64_t one, int64_t other, double cost) {
    return one < other ? MergePair{one, other, cost} : MergePair{other, one, cost};
  }
  bool before(const MergePair& other) const {
    if (cost != other.cost) return cost < other.cost;
    return a != other.a ? a < other.a : b < other.b;
  }
  bool operator==(const MergePair&) const = default;
};

// A queue of clusters by the first pair that each can make. A cluster whose pair is `out_of_date`, because its partner
// has merged, keeps the old cost as a lower bound, and is looked up again when that bound is the lowest of all.
class Partners {
 public:
  explicit Partners(int64_t n) : pair_(n), is_out_of_date_(n, 0) {}

  double cost(int64_t owner) const { return pair_[owner].cost; }
  bool has(int64_t owner, int64_t partner) const { return pair_[owner].a == partner || pair_[owner].b == partner; }

  // The first pair that `owner` can make; one without clusters if it can make none.
  void set(int64_t owner, const MergePair& pair) {
    pair_[owner] = pair;
    is_out_of_date_[owner] = 0;
    if (pair.a >= 0) queue_.push({pair, owner});
  }

  // Takes `pair` if it comes before the one that `owner` has, or is the same. Returns whether it was taken.
  bool offer(int64_t owner, const MergePair& pair) {
    const bool takes = pair.before(pair_[owner]) || pair == pair_[owner];
    if (takes) set(owner, pair);
    return takes;
  }

  void out_of_date(int64_t owner) { is_out_of_date_[owner] = 1; }

  // `owner` has become part of another cluster.
  void remove(int64_t owner) { pair_[owner] = {}; }

  // The first of all pairs, one without clusters if there is none. look(owner) is to set() what `owner` can make now.
  template <class Look>
  MergePair first(Look look) {
    while (!queue_.empty()) {
      const auto [pair, owner] = queue_.top();
      const bool is_current = pair == pair_[owner];
      if (is_current && !is_out_of_date_[owner]) return pair;
      queue_.pop();
      if (is_current) look(owner);
    }
    return {};
  }

 private:
  struct Entry {
    MergePair pair;
    int64_t owner;
    bool operator>(const Entry& other) const { return other.pair.before(pair); }
  };

  std::vector<MergePair> pair_;
  std::vector<char> is_out_of_date_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace kfree
