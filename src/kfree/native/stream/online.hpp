// A stream of rows, clustered as they come: online DP-means and split DP-means (Odashima et al. 2016, Algorithms 2, 3).
// Extensions of the paper: a limit on the number of clusters, decay of weights, and a log of events.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "stream/lookahead.hpp"
#include "rows/rows.hpp"

namespace kfree {

struct Event {
  enum Kind : int64_t { BIRTH, SPLIT, MERGE, DEATH, PENALTY };
  int64_t row;        // how many rows had come before
  int64_t kind;
  int64_t id, other;  // SPLIT: the half that stays, the new one; MERGE: what stays, what is gone; else −1
};

// The complete state of a stream. Clusters are in order of birth, ids ascend.
struct StreamState {
  bool split;
  int64_t max_clusters;
  double growth_per_row;  // 2^(1/half-life); 1 forgets nothing
  double lifetime;        // a cluster dies if so many rows came since one joined it

  double lam;             // the present penalty
  double growth = 1.0;    // current scale of weights, in [1, 2): decay makes new rows heavier, not old ones lighter
  int64_t n_rows = 0;     // seen so far
  int64_t n_counted = 0;  // those of positive weight
  int64_t next_id = 0;
  std::vector<int64_t> id, last;  // (k,) `last`: n_counted when a row last joined
  std::vector<double> weight;     // (k,) times `growth`
  Sites sites;
  std::vector<double> low, high;  // (k, d) the boxes that hold a cluster's rows; empty without `split`
};

class Stream {
 public:
  StreamState state;
  explicit Stream(StreamState start) : state(std::move(start)) {}

  // out joined (n,): the id of the cluster that each row joined or opened; −1 for a row of no weight before any cluster
  std::vector<Event> advance(const Rows& rows, int64_t* joined);
  // Algorithm 4 at the current penalty.
  std::vector<Event> merge();

 private:
  int64_t k() const { return state.sites.k; }
  double penalty() const { return state.lam * state.growth; }  // in the scale of the stored weights
  double* low(int64_t j) { return state.low.data() + j * state.sites.d; }
  double* high(int64_t j) { return state.high.data() + j * state.sites.d; }

  int64_t take(int place, double weight);
  int64_t home(int place, double weight);
  bool too_far(double cost) const;
  bool refuses(int64_t j, double weight);
  int64_t first_willing(double weight);
  void open_cluster(double weight);
  void join(int64_t j, double weight);
  void split_while_due(int64_t j);
  bool due(int64_t j);
  int64_t widest(int64_t j);
  void halve(int64_t j);
  void forget();
  int64_t raise_penalty(int64_t follow, double& cheapest);
  double merge_below_penalty(int64_t& follow);
  void keep(const std::vector<char>& alive);
  void log(Event::Kind kind, int64_t id = -1, int64_t other = -1);

  // Valid during one call.
  std::vector<double> z_;  // the row in hand
  std::vector<double> centre_;
  Lookahead ahead_;
  std::function<bool()> go_on_;
  std::vector<Event> events_;
};

}  // namespace kfree
