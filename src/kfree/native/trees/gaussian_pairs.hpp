// Merging Gaussian clusters with mean and covariance integrated out (Kurihara & Welling 2009, Eq. 18-19).
#pragma once
#include <memory>

#include "core/lanes.hpp"
#include "trees/pair_costs.hpp"

namespace kfree {

// In coordinates where m0 = 0 and B0 = I, a cluster of n rows with mean y and scatter S has
//   B = I + S + n·ξ0/(ξ0 + n)·y·yᵀ,
// and adds size_term(n) + (η0 + n)/2·log det B to the free energy. Every term of B is positive, so that nothing
// cancels, and I + S is kept factorised: comparing it with a single row takes d² operations instead of d³.
class GaussianPairs : public PairCosts {
 public:
  // in rows (n,d) in those coordinates, size_terms (n+1,)
  GaussianPairs(const double* rows, int64_t n, int64_t d, double xi0, double eta0, const double* size_terms);
  void ask(int64_t a, const std::vector<int64_t>& others) override;
  void floors(const int64_t* others, int64_t n, double* floor) const override;
  bool floor_is_cost(int64_t b) const override { return !shape_[asker_] || !shape_[b]; }
  void costs(const int64_t* others, int64_t n, double* cost) const override;
  void absorb(int64_t a, int64_t b) override;
  int64_t work() const override { return d_ * d_; }

 private:
  // What a cluster of two or more rows has and a single row lacks. Matrices are lower triangles, column by column.
  struct Shape {
    std::vector<double> scatter;     // S
    std::vector<double> whitener;    // W with WᵀW = (I + S)⁻¹
    std::vector<double> white_mean;  // W·y
    std::vector<double> contrasts;   // vectors whose outer products make up S, as long as they are few
    double log_det = 0;              // of I + S
  };

  const double* mean(int64_t c) const { return mean_.data() + c * d_; }
  // n·ξ0/(ξ0 + n): how much the distance from m0 counts.
  double pull(double n) const { return n * xi0_ / (xi0_ + n); }
  // log det B of the asker merged with four others: two rows; a shape and the mean of the other, as if its rows all lay
  // there; a shape and a few contrasts of the smaller one; two shapes.
  Four log_det_of_rows(const int64_t* others) const;
  Four log_det_at_mean(const int64_t* others) const;
  Four log_det_by_contrasts(const int64_t* others) const;
  Four log_det_of_shapes(const int64_t* others) const;
  Four log_det_of_columns(const int64_t* others, bool asker_is_base, int64_t n_contrasts) const;
  // Of two shapes the larger one is the base, the first on ties.
  bool is_base(int64_t a, int64_t b) const { return n_[a] > n_[b] || (n_[a] == n_[b] && a < b); }
  // How many contrasts the smaller of two shapes has, or −1 if there are too many.
  int64_t n_contrasts(int64_t a, int64_t b) const;
  // Applies one of these to all others, four at a time. out delta (n,): what the merged cluster costs more than both.
  void deltas(Four (GaussianPairs::*log_det)(const int64_t*) const, const int64_t* others, int64_t n,
              double* delta) const;
  double energy(double n, double log_det) const { return size_terms_[size_t(n)] + (eta0_ + n) / 2 * log_det; }
  Shape shape_of(int64_t a, int64_t b) const;

  int64_t d_;
  double xi0_, eta0_;
  int64_t most_contrasts_ = 0;
  std::vector<double> size_terms_, n_, mean_, energy_;
  std::vector<std::unique_ptr<Shape>> shape_;
  int64_t asker_ = 0;
  std::vector<Four> asked_whitener_;  // the asker's, where it has a shape
};

}  // namespace kfree
