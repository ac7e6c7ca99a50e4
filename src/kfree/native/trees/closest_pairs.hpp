// The cheapest pair of clusters to merge, again after every merge: by plain search, and by Eppstein's conga line.
#pragma once
#include "core/partners.hpp"
#include "trees/pair_costs.hpp"

namespace kfree {

// Evaluates the pairs of one cluster, on several threads. Every cost that matters is computed in full, whatever the
// floors and on whichever thread, so that results do not depend on threads.
class Survey {
 public:
  Survey(PairCosts& model, int n_threads) : model_(model), n_threads_(n_threads) {}
  // The first pair that a can make with one of the others; an infinite cost if there are none.
  MergePair nearest(int64_t a, const std::vector<int64_t>& others);
  // out cost[i]: of merging a with others[i]; infinite where it is above ceiling[i].
  void compare(int64_t a, const std::vector<int64_t>& others, const std::vector<double>& ceiling,
               std::vector<double>& cost);
  // Number of pairs evaluated.
  int64_t n_looks = 0;

 private:
  template <class Work>
  void for_all(int64_t n, int64_t work_each, Work work);
  void look(int64_t a, const std::vector<int64_t>& others);
  void complete(const std::vector<int64_t>& others, const std::vector<int64_t>& places);

  PairCosts& model_;
  int n_threads_;
  std::vector<double> cost_;
};

class ClosestPairs {
 public:
  virtual ~ClosestPairs() = default;
  // The first of all pairs. Needs two clusters.
  virtual MergePair first() = 0;
  // Merges the pair that first() returned.
  virtual void merge(const MergePair& pair) = 0;
};

// For every cluster its cheapest partner among the later ones.
class PlainSearch : public ClosestPairs {
 public:
  PlainSearch(PairCosts& model, Survey& survey, int64_t n);
  MergePair first() override;
  void merge(const MergePair& pair) override;

 private:
  void look(int64_t a);

  PairCosts& model_;
  Survey& survey_;
  std::vector<int64_t> alive_;
  Partners partners_;
};

// Eppstein (1998): the clusters are parted into at most log n sets, and for each set there is a line of nearest
// neighbours that alternates between the set and all clusters. The first pair is always an edge of some line.
class CongaLines : public ClosestPairs {
 public:
  CongaLines(PairCosts& model, Survey& survey, int64_t n);
  MergePair first() override;
  void merge(const MergePair& pair) override;

 private:
  struct Edge {
    int64_t from, to;
    double cost;
  };
  struct Line {
    std::vector<int64_t> members;
    std::vector<Edge> edges = {};
    bool is_drawn = false;
  };

  std::vector<int64_t> cut(int64_t gone, int64_t changed);
  void join_most_equal();
  void draw(Line& line);

  PairCosts& model_;
  Survey& survey_;
  std::vector<int64_t> alive_;
  std::vector<char> is_member_;
  std::vector<Line> lines_;
};

}  // namespace kfree
