#include "trees/closest_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.hpp"

namespace kfree {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
// Operations that take about as long as starting a thread, and pairs that a thread takes at a time.
constexpr int64_t WORTH_A_THREAD = 1 << 18, PAIRS_AT_ONCE = 64;

void erase_value(std::vector<int64_t>& sorted, int64_t value) {
  sorted.erase(std::lower_bound(sorted.begin(), sorted.end(), value));
}

}  // namespace

template <class Work>
void Survey::for_all(int64_t n, int64_t work_each, Work work) {
  const int64_t worth = 1 + n * work_each / WORTH_A_THREAD;
  Blocks((n + PAIRS_AT_ONCE - 1) / PAIRS_AT_ONCE)
      .run(static_cast<int>(std::min<int64_t>(n_threads_, worth)), [&](Worker& worker) {
        for (int64_t block; (block = worker.next()) >= 0;) {
          const int64_t from = block * PAIRS_AT_ONCE;
          work(from, std::min(PAIRS_AT_ONCE, n - from));
        }
      });
}

void Survey::look(int64_t a, const std::vector<int64_t>& others) {
  const auto n = static_cast<int64_t>(others.size());
  model_.ask(a, others);
  cost_.resize(n);
  for_all(n, model_.work(), [&](int64_t from, int64_t size) {
    model_.floors(others.data() + from, size, cost_.data() + from);
  });
  n_looks += n;
}

void Survey::complete(const std::vector<int64_t>& others, const std::vector<int64_t>& places) {
  const auto n = static_cast<int64_t>(places.size());
  std::vector<int64_t> asked;
  for (int64_t i : places) asked.push_back(others[i]);
  std::vector<double> cost(n);
  for_all(n, 4 * model_.work(), [&](int64_t from, int64_t size) {
    model_.costs(asked.data() + from, size, cost.data() + from);
  });
  for (int64_t i = 0; i < n; ++i) cost_[places[i]] = cost[i];
}

MergePair Survey::nearest(int64_t a, const std::vector<int64_t>& others) {
  look(a, others);
  MergePair best;
  std::vector<int64_t> doubtful;
  for (size_t i = 0; i < others.size(); ++i) {
    const MergePair pair = MergePair::of(a, others[i], cost_[i]);
    if (!model_.floor_is_cost(others[i])) {
      doubtful.push_back(static_cast<int64_t>(i));
    } else if (pair.before(best)) {
      best = pair;
    }
  }
  // The lowest floors first, a few at a time, until no other floor is as low as a cost.
  const auto lower = [&](int64_t i, int64_t j) { return cost_[i] < cost_[j] || (cost_[i] == cost_[j] && i < j); };
  std::erase_if(doubtful, [&](int64_t i) { return cost_[i] > best.cost; });
  std::sort(doubtful.begin(), doubtful.end(), lower);
  std::vector<int64_t> batch;
  for (auto from = doubtful.begin(); from != doubtful.end() && cost_[*from] <= best.cost;) {
    const auto until = from + std::min<int64_t>(doubtful.end() - from, batch.empty() ? 1 : PAIRS_AT_ONCE);
    batch.assign(from, until);
    complete(others, batch);
    for (int64_t i : batch)
      if (const MergePair pair = MergePair::of(a, others[i], cost_[i]); pair.before(best)) best = pair;
    from = until;
  }
  return best;
}

void Survey::compare(int64_t a, const std::vector<int64_t>& others, const std::vector<double>& ceiling,
                     std::vector<double>& cost) {
  look(a, others);
  std::vector<int64_t> doubtful;
  for (size_t i = 0; i < others.size(); ++i) {
    if (cost_[i] > ceiling[i]) {
      cost_[i] = INF;
    } else if (!model_.floor_is_cost(others[i])) {
      doubtful.push_back(static_cast<int64_t>(i));
    }
  }
  complete(others, doubtful);
  cost = cost_;
}

PlainSearch::PlainSearch(PairCosts& model, Survey& survey, int64_t n)
    : model_(model), survey_(survey), alive_(n), partners_(n) {
  std::iota(alive_.begin(), alive_.end(), 0);
  for (int64_t a = 0; a < n; ++a) look(a);
}

void PlainSearch::look(int64_t a) {
  partners_.set(a, survey_.nearest(a, {std::upper_bound(alive_.begin(), alive_.end(), a), alive_.end()}));
}

MergePair PlainSearch::first() {
  return partners_.first([&](int64_t a) { look(a); });
}

void PlainSearch::merge(const MergePair& pair) {
  const int64_t a = pair.a, b = pair.b;
  model_.absorb(a, b);
  erase_value(alive_, b);
  partners_.remove(b);
  for (int64_t c : alive_)
    if (partners_.has(c, a) || partners_.has(c, b)) partners_.out_of_date(c);
  const std::vector<int64_t> earlier(alive_.begin(), std::lower_bound(alive_.begin(), alive_.end(), a));
  std::vector<double> ceiling, cost;
  for (int64_t c : earlier) ceiling.push_back(partners_.cost(c));
  survey_.compare(a, earlier, ceiling, cost);
  for (size_t i = 0; i < earlier.size(); ++i) partners_.offer(earlier[i], {earlier[i], a, cost[i]});
  look(a);
}

CongaLines::CongaLines(PairCosts& model, Survey& survey, int64_t n)
    : model_(model), survey_(survey), alive_(n), is_member_(n, false), lines_(1) {
  std::iota(alive_.begin(), alive_.end(), 0);
  lines_[0].members = alive_;
  draw(lines_[0]);
}

MergePair CongaLines::first() {
  MergePair best;
  for (const Line& line : lines_)
    for (const Edge& edge : line.edges)
      if (const MergePair pair = MergePair::of(edge.from, edge.to, edge.cost); pair.before(best)) best = pair;
  return best;
}

void CongaLines::merge(const MergePair& pair) {
  model_.absorb(pair.a, pair.b);
  erase_value(alive_, pair.b);
  lines_.push_back({cut(pair.b, pair.a)});
  const auto n_sets = static_cast<size_t>(std::max(1.0, std::log2(static_cast<double>(alive_.size()))));
  while (lines_.size() > n_sets) join_most_equal();
  for (Line& line : lines_)
    if (!line.is_drawn) draw(line);
}

// Takes both clusters out of all lines. Returns the members of a new set: the changed one, and all who pointed there.
std::vector<int64_t> CongaLines::cut(int64_t gone, int64_t changed) {
  const auto hit = [&](int64_t c) { return c == gone || c == changed; };
  std::vector<int64_t> homeless{changed};
  for (const Line& line : lines_)
    for (const Edge& edge : line.edges)
      if (hit(edge.to) && !hit(edge.from)) homeless.push_back(edge.from);
  std::sort(homeless.begin(), homeless.end());
  homeless.erase(std::unique(homeless.begin(), homeless.end()), homeless.end());
  for (Line& line : lines_) {
    std::erase_if(line.edges, [&](const Edge& edge) { return hit(edge.from) || hit(edge.to); });
    std::erase_if(line.members, [&](int64_t c) {
      return hit(c) || std::binary_search(homeless.begin(), homeless.end(), c);
    });
  }
  std::erase_if(lines_, [](const Line& line) { return line.members.empty(); });
  return homeless;
}

// Joins the two sets whose sizes differ by the smallest factor.
void CongaLines::join_most_equal() {
  std::sort(lines_.begin(), lines_.end(),
            [](const Line& x, const Line& y) { return x.members.size() < y.members.size(); });
  size_t best = 0;
  double least = INF;
  for (size_t i = 0; i + 1 < lines_.size(); ++i) {
    const auto small = static_cast<double>(lines_[i].members.size());
    const double factor = static_cast<double>(lines_[i + 1].members.size()) / small;
    if (factor < least) least = factor, best = i;
  }
  Line &into = lines_[best], &from = lines_[best + 1];
  into.members.insert(into.members.end(), from.members.begin(), from.members.end());
  std::sort(into.members.begin(), into.members.end());
  into.edges.clear();
  into.is_drawn = false;
  lines_.erase(lines_.begin() + static_cast<int64_t>(best) + 1);
}

// From a member to its nearest among all that the line has not visited, from anyone else to its nearest such member.
void CongaLines::draw(Line& line) {
  std::vector<int64_t> members = line.members, all = alive_;
  for (int64_t c : members) is_member_[c] = true;
  int64_t at = members.front();
  for (;;) {
    erase_value(all, at);
    if (is_member_[at]) erase_value(members, at);
    const std::vector<int64_t>& next = is_member_[at] ? all : members;
    if (next.empty()) break;
    const MergePair pair = survey_.nearest(at, next);
    const int64_t to = pair.a == at ? pair.b : pair.a;
    line.edges.push_back({at, to, pair.cost});
    at = to;
  }
  for (int64_t c : line.members) is_member_[c] = false;
  line.is_drawn = true;
}

}  // namespace kfree
