#include "stream/online.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/parallel.hpp"
#include "stream/ward.hpp"

namespace kfree {
namespace {

// Where squared distances overflow, no penalty is high enough, and it must remain a number.
constexpr double HIGHEST = std::numeric_limits<double>::max();

}  // namespace

std::vector<Event> Stream::advance(const Rows& rows, int64_t* joined) {
  z_.resize(rows.d);
  events_.clear();
  Blocks(1).run_alone([&](Worker& worker) {
    // A single row is processed completely or not at all, so that callers need no copy.
    go_on_ = [&] { return rows.n == 1 || worker.go_on(); };
    for (int64_t begin = 0; begin < rows.n && worker.go_on(); begin += Lookahead::ROWS) {
      const int n = static_cast<int>(std::min<int64_t>(Lookahead::ROWS, rows.n - begin));
      ahead_.open(rows, begin, n, state.sites);
      for (int place = 0; place < n; ++place) {
        rows.copy(begin + place, z_.data());
        joined[begin + place] = take(place, rows.weight(begin + place));
        ++state.n_rows;
      }
    }
  });
  return std::move(events_);
}

std::vector<Event> Stream::merge() {
  events_.clear();
  Blocks(1).run_alone([&](Worker& worker) {
    go_on_ = [&] { return worker.go_on(); };
    int64_t nobody = -1;
    merge_below_penalty(nobody);
  });
  return std::move(events_);
}

int64_t Stream::take(int place, double weight) {
  if (weight == 0.0) return k() > 0 ? state.id[ahead_.nearest(place, z_.data(), state.sites).site] : -1;
  ++state.n_counted;
  if (state.growth_per_row > 1.0) forget();
  double cheapest = -1.0;
  int64_t j = home(place, weight);
  while (j < 0 && k() == state.max_clusters) {
    raise_penalty(-1, cheapest);
    j = home(place, weight);
  }
  if (j < 0) {
    open_cluster(weight);
    return state.id.back();
  }
  const int64_t id = state.id[j];
  join(j, weight);
  if (state.split) split_while_due(j);
  return id;
}

// The cluster that the row in hand belongs to, or −1 if it has to open one.
int64_t Stream::home(int place, double weight) {
  if (k() == 0) return -1;
  const Near near = ahead_.nearest(place, z_.data(), state.sites);
  if (too_far(weight * near.sq_dist)) return -1;
  return state.split && refuses(near.site, weight) ? first_willing(weight) : near.site;
}

// Whether a row would open a cluster; not under the highest penalty, which does not rise further to make room.
bool Stream::too_far(double cost) const { return cost > state.lam && state.lam < HIGHEST; }

void Stream::open_cluster(double weight) {
  log(Event::BIRTH, state.next_id);
  state.id.push_back(state.next_id++);
  state.last.push_back(state.n_counted);
  state.weight.push_back(weight * state.growth);
  state.sites.append(z_.data());
  if (state.split) {
    state.low.insert(state.low.end(), z_.begin(), z_.end());
    state.high.insert(state.high.end(), z_.begin(), z_.end());
  }
  ahead_.moved(k() - 1, state.sites);
}

// Eq. 5. Moving the mean by the row's share keeps it where it is when the row lies on it.
void Stream::join(int64_t j, double weight) {
  const int64_t d = state.sites.d;
  const double added = weight * state.growth;
  state.weight[j] += added;
  state.last[j] = state.n_counted;
  centre_.assign(state.sites[j], state.sites[j] + d);
  move_towards(centre_.data(), z_.data(), added / state.weight[j], d);
  state.sites.place(j, centre_.data());
  for (int64_t t = 0; state.split && t < d; ++t) {
    low(j)[t] = std::min(low(j)[t], z_[t]);
    high(j)[t] = std::max(high(j)[t], z_[t]);
  }
  ahead_.moved(j, state.sites);
}

// One row older: in its own scale nothing changes until the scale has doubled, and then all halve, which is exact.
void Stream::forget() {
  state.growth *= state.growth_per_row;
  if (state.growth < 2.0) return;
  state.growth /= 2.0;
  std::vector<char> alive(k(), true);
  for (int64_t j = 0; j < k(); ++j) {
    state.weight[j] /= 2.0;
    alive[j] = static_cast<double>(state.n_counted - state.last[j]) <= state.lifetime;
    if (!alive[j]) log(Event::DEATH, state.id[j]);
  }
  keep(alive);
}

// Doubles the penalty and merges clusters while that lowers J. `cheapest` is what a pair costs at least, if that is
// known already.
// Returns the place of the cluster that was at `follow`, or of the one that it has become part of.
int64_t Stream::raise_penalty(int64_t follow, double& cheapest) {
  state.lam = std::min(2.0 * state.lam, HIGHEST);
  log(Event::PENALTY);
  if (!(cheapest >= penalty())) cheapest = merge_below_penalty(follow);
  return follow;
}

double Stream::merge_below_penalty(int64_t& follow) {
  const int64_t d = state.sites.d;
  const Merges merges = merge_cheapest(state.sites, state.weight, penalty(), go_on_);
  std::vector<char> alive(k(), true);
  for (const Merge& merge : merges.list) {
    const int64_t a = merge.into, b = merge.from;
    log(Event::MERGE, state.id[a], state.id[b]);
    state.weight[a] += state.weight[b];
    state.last[a] = std::max(state.last[a], state.last[b]);
    std::vector<double> centre(state.sites[a], state.sites[a] + d);
    move_towards(centre.data(), state.sites[b], merge.share, d);
    state.sites.place(a, centre.data());
    for (int64_t t = 0; state.split && t < d; ++t) {
      low(a)[t] = std::min(low(a)[t], low(b)[t]);
      high(a)[t] = std::max(high(a)[t], high(b)[t]);
    }
    alive[b] = false;
    if (follow == b) follow = a;
  }
  if (follow >= 0) follow = std::count(alive.begin(), alive.begin() + follow, true);
  keep(alive);
  return merges.lowest;
}

// Clusters that are not alive leave; the others move up.
void Stream::keep(const std::vector<char>& alive) {
  if (std::find(alive.begin(), alive.end(), false) == alive.end()) return;
  const int64_t d = state.sites.d, before = k();
  int64_t n = 0;
  for (int64_t j = 0; j < before; ++j) {
    if (!alive[j]) continue;
    state.id[n] = state.id[j];
    state.last[n] = state.last[j];
    state.weight[n] = state.weight[j];
    std::copy_n(state.sites[j], d, state.sites.centre.data() + n * d);
    if (state.split) {
      std::copy_n(low(j), d, low(n));
      std::copy_n(high(j), d, high(n));
    }
    ++n;
  }
  state.id.resize(n);
  state.last.resize(n);
  state.weight.resize(n);
  state.low.resize(state.split ? n * d : 0);
  state.high.resize(state.split ? n * d : 0);
  state.sites = Sites(state.sites.centre.data(), n, d, 1);
  ahead_.forget();
}

void Stream::log(Event::Kind kind, int64_t id, int64_t other) { events_.push_back({state.n_rows, kind, id, other}); }

}  // namespace kfree
