#include "trees/count_pairs.hpp"

#include <numeric>

namespace kfree {
namespace {

constexpr int64_t UNKNOWN = INT64_MIN;

int64_t n_words(const CountRows& rows) {
  return std::accumulate(rows.counts, rows.counts + rows.indptr[rows.n], int64_t{0});
}

}  // namespace

CountPairs::CountPairs(const CountRows& rows, const double* size_terms, double unit)
    : unit_(unit), n_(rows.n, 1), entries_(rows.n), n_entries_(rows.indptr[rows.n]), asked_(rows.d) {
  for (int64_t n = 0; n <= rows.n; ++n) size_terms_.push_back(in_units(size_terms[n], unit));
  for (int64_t row = 0; row < rows.n; ++row)
    for (int64_t at = rows.indptr[row]; at < rows.indptr[row + 1]; ++at)
      entries_[row].push_back({rows.indices[at], rows.counts[at]});
}

int64_t CountPairs::largest_column_total(const CountRows& rows) {
  std::vector<int64_t> total(rows.d);
  for (int64_t at = 0; at < rows.indptr[rows.n]; ++at) total[rows.indices[at]] += rows.counts[at];
  return *std::max_element(total.begin(), total.end());
}

void CountPairs::ask(int64_t a, const std::vector<int64_t>& others) {
  std::fill(asked_.begin(), asked_.end(), 0);
  for (const Entry& e : entries_[a]) asked_[e.column] = e.count;
  asker_ = a;
  prepare(others);
}

void CountPairs::floors(const int64_t* others, int64_t n, double* floor) const {
  for (int64_t i = 0; i < n; ++i) floor[i] = unit_ * static_cast<double>(units(others[i]));
}

void CountPairs::absorb(int64_t a, int64_t b) {
  std::vector<Entry> merged, &left = entries_[a], &right = entries_[b];
  auto l = left.begin(), r = right.begin();
  while (l != left.end() || r != right.end()) {
    if (r == right.end() || (l != left.end() && l->column < r->column)) {
      merged.push_back(*l++);
    } else if (l == left.end() || r->column < l->column) {
      merged.push_back(*r++);
    } else {
      merged.push_back({l->column, l->count + r->count});
      ++l, ++r;
    }
  }
  left = std::move(merged);
  std::vector<Entry>().swap(right);
  n_[a] += n_[b];
}

MultinomialPairs::MultinomialPairs(const CountRows& rows, double psi0, const double* size_terms, double unit)
    : CountPairs(rows, size_terms, unit),
      of_column_(psi0, unit, largest_column_total(rows), rows.n * n_entries_),
      of_words_(psi0 * static_cast<double>(rows.d), unit, n_words(rows), rows.n * rows.n) {
  for (const auto& entries : entries_) {
    int64_t words = 0;
    for (const Entry& e : entries) words += e.count;
    words_.push_back(words);
  }
}

int64_t MultinomialPairs::units(int64_t b) const {
  const int64_t w_a = words_[asker_], w_b = words_[b];
  int64_t sum = size_term(b) + of_words_(w_a + w_b) - of_words_(w_a) - of_words_(w_b);
  // A column that one of the two does not have costs the same before and after.
  for (const Entry& e : entries_[b])
    if (const int64_t own = asked_[e.column]) sum += of_column_(own) + of_column_(e.count) - of_column_(own + e.count);
  return sum;
}

void MultinomialPairs::absorb(int64_t a, int64_t b) {
  words_[a] += words_[b];
  CountPairs::absorb(a, b);
}

BernoulliPairs::BernoulliPairs(const CountRows& rows, double omega0, const double* size_terms, double unit)
    : CountPairs(rows, size_terms, unit), of_(omega0, unit, rows.n, rows.n * n_entries_ + rows.n), without_ones_(rows.n + 1) {}

void BernoulliPairs::prepare(const std::vector<int64_t>& others) {
  std::fill(without_ones_.begin(), without_ones_.end(), UNKNOWN);
  const int64_t n_a = n_[asker_];
  for (int64_t b : others) {
    const int64_t n_b = n_[b];
    if (without_ones_[n_b] != UNKNOWN) continue;
    const auto n_empty = static_cast<int64_t>(asked_.size() - entries_[asker_].size());
    int64_t gain = n_empty * (of_(n_a + n_b) - of_(n_a) - of_(n_b));
    for (const Entry& e : entries_[asker_]) gain += of_(n_a + n_b - e.count) - of_(n_a - e.count) - of_(n_b);
    without_ones_[n_b] = gain;
  }
}

int64_t BernoulliPairs::units(int64_t b) const {
  const int64_t n_b = n_[b], n = n_[asker_] + n_b;
  int64_t gain = without_ones_[n_b];
  for (const Entry& e : entries_[b]) {
    const int64_t own = asked_[e.column];
    gain += of_(own + e.count) - of_(own) - of_(e.count);
    gain += of_(n - own - e.count) - of_(n_b - e.count) - of_(n - own) + of_(n_b);
  }
  return size_term(b) - gain;
}

}  // namespace kfree
