// Sites: the centres that rows are compared with, laid out for every kernel.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "assign/rank.hpp"
#include "core/uninitialised.hpp"

namespace kfree {

struct Sites {
  int64_t d;
  int64_t k = 0;
  Uninitialised<double> centre;   // (k, d)
  std::vector<double> sq_norm;    // (k,)
  std::vector<double> norm;       // (k,)
  Uninitialised<double> panels;   // (n_panels, d, PANEL), for exact distances to the sites of a panel
  Uninitialised<float> panels32;  // the same for ranking
  std::vector<float> half_norm32; // (n_panels·PANEL,), FARTHEST where a panel has no site yet

  explicit Sites(int64_t d) : d(d) {}
  Sites(const double* centres, int64_t k, int64_t d, int n_threads);

  // The largest norm and, by size, the largest coordinate. They never fall, which leaves every bound that is made from
  // them true.
  double max_norm() const { return extent_.norm; }
  double max_coordinate() const { return extent_.coordinate; }

  int64_t n_panels() const { return static_cast<int64_t>(half_norm32.size()) / PANEL; }
  const double* operator[](int64_t j) const { return centre.data() + j * d; }
  const double* panel(int64_t p) const { return panels.data() + p * d * PANEL; }
  void append(const double* c);
  // Keeps the first k sites.
  void truncate(int64_t k);
  // Moves site j.
  void place(int64_t j, const double* c);

 private:
  struct Extent {
    double norm = 0.0, coordinate = 0.0;
    void widen(const Extent& other) {
      norm = std::max(norm, other.norm);
      coordinate = std::max(coordinate, other.coordinate);
    }
  };
  Extent take_over(const double* centres, int64_t p);
  // Keeps what site j's squared norm is, added in the order of the columns: sparse distances are made with it.
  Extent measured(int64_t j, double sum, double largest);

  Extent extent_;
};

// The distance between two sites (d,), added in any order.
double dist_between(const double* a, const double* b, int64_t d);

// Some of the sites, packed for ranking.
struct Subset {
  std::vector<int32_t> id;  // (n,)
  std::vector<float> panels32, half_norm32;

  int64_t n_panels() const { return static_cast<int64_t>(half_norm32.size()) / PANEL; }
  void take(const Sites& sites, const int32_t* ids, int64_t n);
};

}  // namespace kfree
