// Merging clusters of counts, or of zeros and ones, probabilities integrated out (Kurihara & Welling 2009, App. B, C).
#pragma once
#include "trees/log_gammas.hpp"
#include "trees/pair_costs.hpp"

namespace kfree {

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
