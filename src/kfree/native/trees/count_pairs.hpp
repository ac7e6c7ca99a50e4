// Merging clusters of counts, or of zeros and ones, probabilities integrated out (Kurihara & Welling 2009, App. B, C).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "trees/pair_costs.hpp"

namespace kfree {

inline int64_t in_units(double value, double unit) { return std::llround(value / unit); }

// log Γ(prior + c) − log Γ(prior) for whole c, in whole units: sums and differences are exact in any order, so that
// costs which are equal in theory are equal here, and ties are distinguished from near ties.
class LogGammas {
 public:
  // Values up to `largest` are looked up, as far as they fit into a table of 8 MB, and into one of `n_uses`: a table
  // that is made for fewer uses than it has entries takes longer than it saves.
  LogGammas(double prior, double unit, int64_t largest, int64_t n_uses) : prior_(prior), unit_(unit) {
    const int64_t size = std::min({largest + 1, n_uses, int64_t{1} << 20});
    for (int64_t c = 0; c < size; ++c) table_.push_back(computed(c));
  }
  int64_t operator()(int64_t c) const {
    return c < static_cast<int64_t>(table_.size()) ? table_[c] : computed(c);
  }

 private:
  int64_t computed(int64_t c) const {
    int sign;  // lgamma would write it to a variable that all threads share
    return in_units(lgamma_r(prior_ + static_cast<double>(c), &sign) - lgamma_r(prior_, &sign), unit_);
  }

  double prior_, unit_;
  std::vector<int64_t> table_;
};

// Rows as CSR: the columns of row i and their counts are at indptr[i] … indptr[i+1].
struct CountRows {
  const int64_t *indptr, *indices, *counts;
  int64_t n, d;
};

// What clusters of both kinds have in common: their sizes, and their counts where these are not zero.
class CountPairs : public PairCosts {
 public:
  void floors(const int64_t* others, int64_t n, double* floor) const override;
  bool floor_is_cost(int64_t) const override { return true; }
  void costs(const int64_t* others, int64_t n, double* cost) const override { floors(others, n, cost); }
  void ask(int64_t a, const std::vector<int64_t>& others) override;
  void absorb(int64_t a, int64_t b) override;
  int64_t work() const override { return 4 * n_entries_ / static_cast<int64_t>(n_.size()) + 1; }

 protected:
  struct Entry {
    int64_t column, count;
  };

  // in size_terms (n+1,); one `unit` is the step in which evidences are measured.
  CountPairs(const CountRows& rows, const double* size_terms, double unit);
  // The cost of merging the asker with b, in units.
  virtual int64_t units(int64_t b) const = 0;
  virtual void prepare(const std::vector<int64_t>& others) = 0;
  int64_t size_term(int64_t b) const {
    return size_terms_[n_[asker_] + n_[b]] - size_terms_[n_[asker_]] - size_terms_[n_[b]];
  }
  static int64_t largest_column_total(const CountRows& rows);

  double unit_;
  std::vector<int64_t> size_terms_, n_;
  std::vector<std::vector<Entry>> entries_;
  int64_t asker_ = 0, n_entries_ = 0;
  std::vector<int64_t> asked_;  // the asker's counts in all columns
};

// F = size_term(n) + log Γ(dψ0 + W) − Σ_column log Γ(ψ0 + count), W words in all
class MultinomialPairs : public CountPairs {
 public:
  MultinomialPairs(const CountRows& rows, double psi0, const double* size_terms, double unit);
  void absorb(int64_t a, int64_t b) override;

 private:
  int64_t units(int64_t b) const override;
  void prepare(const std::vector<int64_t>&) override {}

  LogGammas of_column_, of_words_;
  std::vector<int64_t> words_;
};

// F = size_term(n) − Σ_column [log Γ(ω0 + ones) + log Γ(ω0 + n − ones)]
class BernoulliPairs : public CountPairs {
 public:
  BernoulliPairs(const CountRows& rows, double omega0, const double* size_terms, double unit);

 private:
  int64_t units(int64_t b) const override;
  void prepare(const std::vector<int64_t>& others) override;

  LogGammas of_;
  std::vector<int64_t> without_ones_;  // by size: what the columns give if the other cluster has no ones
};

}  // namespace kfree
