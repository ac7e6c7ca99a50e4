// The main pass: assigns every row to its nearest site, with as few distances as the bounds allow.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "assign/int8/prefilter.hpp"
#include "assign/passes.hpp"
#include "core/parallel.hpp"
#include "rows/site_tree.hpp"

namespace kfree {
namespace {

// Rows are read up to three times, so they are taken in as many as a second-level cache holds.
int64_t rows_at_once(int64_t d) {
  constexpr int64_t CACHED_VALUES = 1 << 16;
  // Rows of a feature space may have no columns at all.
  return std::clamp<int64_t>(CACHED_VALUES / std::max<int64_t>(d, 1) / TILE * TILE, 2 * TILE, PIECE);
}

// Counts for a piece: distances computed, rows prefiltered, and rows decided by the prefilter.
struct Tally {
  int64_t n_distances = 0, n_prefiltered = 0, n_decided = 0;

  void add(const Tally& other) {
    n_distances += other.n_distances;
    n_prefiltered += other.n_prefiltered;
    n_decided += other.n_decided;
  }
};

// The quantised sites of a pass, or nulls.
struct Quantized {
  std::unique_ptr<const QuantizedSites> all, fastest;

  Quantized(const Rows& rows, const Sites& sites, const Bounds& bounds, int n_threads) {
    if (bounds.tries_prefilter(rows.prefilter_pays(sites.k))) all = rows.quantized(sites, nullptr, n_threads);
    if (all) fastest = rows.quantized(sites, &bounds.fastest(), n_threads);
  }
};

// far[i]: whether weight·squared distance of row i exceeds lam.
void mark_far(const Rows& rows, const double* sq_dist, double lam, int64_t begin, int64_t end, bool* far) {
  if (rows.weighted())
    for (int64_t i = begin; i < end; ++i) far[i] = rows.weight(i) * sq_dist[i] > lam;
  else
    for (int64_t i = begin; i < end; ++i) far[i] = sq_dist[i] > lam;
}

// Labels one piece after the other, on one thread.
class PieceAssignment {
 public:
  PieceAssignment(const Rows& rows, const Sites& sites, const Quantized& quantized, TreeOnDemand& tree, Bounds& bounds,
                  Worker& worker, int32_t* label, double* sq_dist)
      : rows_(rows), sites_(sites), quantized_(quantized), tree_(tree), bounds_(bounds), worker_(worker), label_(label),
        sq_dist_(sq_dist), ranks_in_place_(rows.ranks_narrow(sites.k) && !quantized.all && !tree.get()), open_(PIECE),
        before_(PIECE), has_changed_(sites.k) {}

  // Labels the rows begin…end−1, PIECE of them at most; false if the call was stopped.
  bool assign_piece(int64_t begin, int64_t end) {
    tally_ = {};
    const int64_t at_once = rows_at_once(rows_.d), first = begin;
    if (bounds_.knows_sums()) bounds_.labels(begin, end, before_.data());
    for (; begin < end; begin += at_once) assign(begin, std::min(end, begin + at_once));
    if (bounds_.knows_sums()) note_changes(first, end);
    return worker_.go_on();
  }
  // What was done for the last piece.
  const Tally& tally() const { return tally_; }
  // Clusters (k,) that rows of the pieces so far have come to or left since the last pass, where its sums are known.
  const std::vector<char>& has_changed() const { return has_changed_; }

 private:
  void note_changes(int64_t begin, int64_t end) {
    for (int64_t i = 0; i < end - begin; ++i) {
      const int32_t before = before_[i], now = label_[begin + i];
      if (before == now) continue;
      if (before >= 0) has_changed_[before] = 1;
      has_changed_[now] = 1;
    }
  }

  void assign(int64_t begin, int64_t end) {
    if (sites_.k == 1) return keep_only_site(begin, end);
    doubtful_.clear();
    unknown_.clear();
    undecided_.clear();
    // The first rows show whether it is worthwhile to ask bounds about the rest (N_PROBED).
    const int64_t n_first = ranks_in_place_ ? std::min(end, begin + N_PROBED) : end;
    keep_settled(begin, n_first);
    if (3 * static_cast<int64_t>(unknown_.size()) > 2 * (n_first - begin))
      rank_in_place(n_first, end);
    else if (n_first < end)
      keep_settled(n_first, end);
    for_tiles(doubtful_, [this](const int64_t* rows, int n_rows) { compare_with_fastest(rows, n_rows); });
    for_tiles(unknown_, [this](const int64_t* rows, int n_rows) { prefilter(rows, n_rows); });
    for_tiles(undecided_, [this](const int64_t* rows, int n_rows) { rank_among_all(rows, n_rows); });
  }

  // All rows are with the one site, and no other can be nearer.
  void keep_only_site(int64_t begin, int64_t end) {
    std::fill(label_ + begin, label_ + end, 0);
    rows_.sq_dists({nullptr, begin}, end - begin, sites_, label_ + begin, sq_dist_ + begin);
    bounds_.keep_only_site(begin, end);
    tally_.n_distances += end - begin;
  }

  // Rows that stay where they were; the others are sorted out.
  void keep_settled(int64_t begin, int64_t end) {
    bounds_.labels(begin, end, label_ + begin);
    int32_t signs = 0;  // negative if any label is
    for (int64_t row = begin; row < end; ++row) signs |= label_[row];
    const size_t n_before = unknown_.size();
    for (int64_t row = begin; row < end && signs < 0; ++row)
      if (label_[row] < 0) unknown_.push_back(row);
    const auto n_new = static_cast<int64_t>(unknown_.size() - n_before);
    if (n_new == end - begin) return;
    if (bounds_.keeps_distances()) measure_moved(begin, end);
    const auto end_of_new = unknown_.end(), first_new = end_of_new - n_new;
    for (auto row = first_new; row != end_of_new; ++row) label_[*row] = 0;  // any site will do: they are ranked later
    if (!bounds_.keeps_distances()) measure_all(begin, end, n_new);
    for (auto row = first_new; row != end_of_new; ++row) sq_dist_[*row] = std::numeric_limits<double>::quiet_NaN();
    const int64_t n_open = bounds_.settle(begin, end, label_ + begin, sq_dist_ + begin, open_.data());
    for (int64_t i = 0; i < n_open; ++i)
      if (!std::isnan(sq_dist_[open_[i]])) sort_out(open_[i]);  // a real distance is never NaN
  }

  // Distances of all rows to their own sites, for which one loop is faster than a list.
  void measure_all(int64_t begin, int64_t end, int64_t n_unknown) {
    tally_.n_distances += end - begin - n_unknown;
    rows_.sq_dists({nullptr, begin}, end - begin, sites_, label_ + begin, sq_dist_ + begin);
  }

  // Distances of rows that have a site, where those to sites that have not moved are known.
  void measure_moved(int64_t begin, int64_t end) {
    moved_.clear();
    for (int64_t row = begin; row < end; ++row) {
      if (label_[row] < 0) continue;
      if (bounds_.has_moved(label_[row]))
        moved_.push_back(row);
      else
        sq_dist_[row] = bounds_.kept_sq_dist(row);
    }
    tally_.n_distances += static_cast<int64_t>(moved_.size());
    for_tiles(moved_, [this](const int64_t* rows, int n_rows) {
      int32_t label[TILE];
      double sq_dist[TILE];
      for (int i = 0; i < n_rows; ++i) label[i] = label_[rows[i]];
      rows_.sq_dists({rows, 0}, n_rows, sites_, label, sq_dist);
      for (int i = 0; i < n_rows; ++i) sq_dist_[rows[i]] = sq_dist[i];
    });
  }

  // Where to search for the nearest site of a row whose bound fails: among the fastest sites, if it fails for these only
  // or if the others rest; nowhere, if all sites rest, or if its own site is the fastest and the bound holds for the
  // rest; otherwise among all.
  void sort_out(int64_t row) {
    const int32_t label = label_[row];
    const double sq_dist = sq_dist_[row], lower = bounds_.lower(row, label);
    const bool rests = bounds_.rests_among_slow(label);
    if (rests && bounds_.fastest().id.empty())
      bounds_.keep(row, label, lower);
    else if (bounds_.fastest().id.empty())
      unknown_.push_back(row);  // a bound too small to be relied on may seem to exceed the distance
    else if (rests || bounds_.exceeds(bounds_.lower_of_slow(row), sq_dist))
      doubtful_.push_back(row);
    else if (bounds_.exceeds(lower, sq_dist))
      bounds_.keep(row, label, lower);
    else
      unknown_.push_back(row);
  }

  void compare_with_fastest(const int64_t* rows, int n_rows) {
    int32_t label[TILE];
    double fast[TILE];
    for (int i = 0; i < n_rows; ++i) label[i] = label_[rows[i]];
    if (quantized_.fastest)
      lower_by_prefilter(rows_, {rows, 0}, n_rows, bounds_.fastest(), *quantized_.fastest, label, scratch_, fast);
    else
      rows_.lower_among({rows, 0}, n_rows, sites_, bounds_.fastest(), label, scratch_, fast);
    tally_.n_distances += n_rows * static_cast<int64_t>(bounds_.fastest().id.size());
    for (int i = 0; i < n_rows; ++i) {
      const double slow = bounds_.lower_of_slow(rows[i]), sq_dist = sq_dist_[rows[i]];
      const bool no_slow_one = bounds_.rests_among_slow(label[i]) || bounds_.exceeds(slow, sq_dist);
      if (no_slow_one && bounds_.exceeds(fast[i], sq_dist))
        bounds_.keep(rows[i], label[i], std::min(fast[i], slow));
      else
        unknown_.push_back(rows[i]);
    }
  }

  // Rows that the prefilter decides; the others are ranked later, as are all once the prefilter decides too few.
  void prefilter(const int64_t* rows, int n_rows) {
    if (!quantized_.all || !Bounds::worthwhile(tally_.n_prefiltered, tally_.n_decided)) {
      undecided_.insert(undecided_.end(), rows, rows + n_rows);
      return;
    }
    const int64_t n_before = undecided_.size();
    label_tile(rows, n_rows, [&](int32_t* label, double* sq_dist, double* lower, Known known) {
      const RowSet tile = {rows, 0};
      tally_.n_distances +=
          sites_.k * nearest_by_prefilter(rows_, tile, n_rows, sites_, *quantized_.all, scratch_, label, sq_dist, lower, known);
    });
    tally_.n_prefiltered += n_rows;
    tally_.n_decided += n_rows - (static_cast<int64_t>(undecided_.size()) - n_before);
  }

  void rank_among_all(const int64_t* rows, int n_rows) {
    if (const SiteTree* tree = tree_.get()) return search_tree(*tree, rows, n_rows);
    label_tile(rows, n_rows, [&](int32_t* label, double* sq_dist, double* lower, Known known) {
      rows_.nearest({rows, 0}, n_rows, sites_, sites_.k, scratch_, label, sq_dist, lower, known);
      make_safe(lower, n_rows);
    });
  }

  // What Rows::nearest says about the second sites, as distances.
  void make_safe(double* lower, int n_rows) const {
    for (int i = 0; i < n_rows; ++i) lower[i] = exact::safe_dist(lower[i], rows_.d);
  }

  // Consecutive rows, whatever is known of them: without lists, results go where they belong.
  void rank_in_place(int64_t begin, int64_t end) {
    for (; begin < end && worker_.go_on(); begin += TILE) {
      const int n_rows = static_cast<int>(std::min<int64_t>(TILE, end - begin));
      double lower[TILE];
      rows_.nearest({nullptr, begin}, n_rows, sites_, sites_.k, scratch_, label_ + begin, sq_dist_ + begin, lower, {});
      make_safe(lower, n_rows);
      bounds_.keep(begin, n_rows, label_ + begin, lower);
      tally_.n_distances += n_rows * sites_.k;
    }
  }

  void search_tree(const SiteTree& tree, const int64_t* rows, int n_rows) {
    for (int i = 0; i < n_rows; ++i) {
      const NearestTwo found = nearest_two(rows_, rows[i], tree, scratch_);
      tally_.n_distances += found.n_visited;
      keep(rows[i], found.label, found.sq_dist, exact::safe_dist(found.second, rows_.d));
    }
  }

  // Compares a tile of rows with all sites by `look`, and stores the result.
  template <class Look>
  void label_tile(const int64_t* rows, int n_rows, Look look) {
    int32_t label[TILE], old_label[TILE];
    double sq_dist[TILE], lower[TILE], old_sq_dist[TILE];
    bool any_known = false;
    for (int i = 0; i < n_rows; ++i) {
      // NaN and, in a first pass, a label of −1: nothing is known.
      old_label[i] = std::isnan(sq_dist_[rows[i]]) ? -1 : label_[rows[i]];
      old_sq_dist[i] = sq_dist_[rows[i]];
      any_known |= old_label[i] >= 0;
    }
    look(label, sq_dist, lower, any_known ? Known{old_label, old_sq_dist} : Known{});
    tally_.n_distances += n_rows * sites_.k;
    for (int i = 0; i < n_rows; ++i)
      if (label[i] >= 0)
        keep(rows[i], label[i], sq_dist[i], lower[i]);
      else
        undecided_.push_back(rows[i]);
  }

  void keep(int64_t row, int32_t label, double sq_dist, double lower) {
    label_[row] = label;
    sq_dist_[row] = sq_dist;
    bounds_.keep(row, label, lower);
  }

  template <class Visit>
  void for_tiles(const std::vector<int64_t>& rows, Visit visit) {
    for (size_t i = 0; i < rows.size() && worker_.go_on(); i += TILE)
      visit(rows.data() + i, static_cast<int>(std::min<size_t>(TILE, rows.size() - i)));
  }

  // So many rows of a piece are compared with their bounds before the rest is, where rows are ranked in place. Where
  // more than two thirds of them are open, ranking the rest takes less time than bounds save. Measured with 8 columns, 50
  // sites and AVX-512, in ns a row: 45 in place; with bounds 44 where .55 of the rows are open, 39 where .44 are.
  static constexpr int64_t N_PROBED = TILE;
  const Rows& rows_;
  const Sites& sites_;
  const Quantized& quantized_;
  TreeOnDemand& tree_;
  Bounds& bounds_;
  Worker& worker_;
  int32_t* label_;
  double* sq_dist_;
  const bool ranks_in_place_;
  Scratch scratch_;
  std::vector<int64_t> open_, moved_, doubtful_, unknown_, undecided_;
  std::vector<int32_t> before_;  // labels of the last pass
  std::vector<char> has_changed_;
  Tally tally_;
};

}  // namespace

int64_t nearest(const Rows& rows, const Sites& sites, const int64_t* uids, double lam, int n_threads, Bounds& bounds,
                int32_t* label, double* sq_dist, StatsOut out, bool* far) {
  Tally done;
  std::mutex adding;
  Stats stats(rows, out, n_threads);
  std::vector<std::atomic<int64_t>> n_assigned(stats.n_runs());
  // Sparse rows are added up in less time than sums are copied.
  const bool keeps_sums = stats.by_cluster() && rows.has_coordinates() && !out.by_node;
  bounds.update(sites, uids, n_threads);
  const Quantized quantized(rows, sites, bounds, n_threads);
  TreeOnDemand tree(rows, sites);
  Blocks(n_blocks(rows.n, PIECE)).run(n_threads, [&](Worker& worker) {
    PieceAssignment assignment(rows, sites, quantized, tree, bounds, worker, label, sq_dist);
    Tally own;
    for (int64_t piece; (piece = worker.next()) >= 0;) {
      const int64_t begin = piece * PIECE, end = std::min(rows.n, begin + PIECE);
      if (!assignment.assign_piece(begin, end)) return;
      bounds.keep_distances(begin, end, sq_dist + begin);
      own.add(assignment.tally());
      if (far) mark_far(rows, sq_dist, lam, begin, end, far);
      if (keeps_sums) continue;
      // The thread that assigns the last rows of a run adds it up.
      const int64_t run = stats.run_of(begin / BLOCK), n_now = end - begin;
      const int64_t first = stats.run_begin(run) * BLOCK, n = std::min(rows.n, stats.run_begin(run + 1) * BLOCK) - first;
      if (n_assigned[run].fetch_add(n_now) + n_now == n)
        stats.add(run, {{nullptr, first}, n, label + first, sq_dist + first});
    }
    std::lock_guard lock(adding);
    done.add(own);
    bounds.forget_sums(assignment.has_changed());
  });
  if (keeps_sums) {
    // A cluster has the sum that it had if no row came or went, which only all rows show.
    stats.know(bounds.known_sums());
    stats.add_all(label, sq_dist);
  }
  stats.finish();
  bounds.keep_sums(keeps_sums ? out.sum : nullptr);
  bounds.finish();
  bounds.judge_prefilter(done.n_prefiltered, done.n_decided);
  return done.n_distances;
}

}  // namespace kfree
