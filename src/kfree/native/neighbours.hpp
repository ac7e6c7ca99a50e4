// Which sites lie around which. A row at distance u from its site has no nearer one outside the ball of 2u about that
// site (Newling & Fleuret 2016, "Exponion"), so few sites have to be looked at where dimensions are few.
// Lists are made once and kept for several passes: what the sites have moved since is added to every reach.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sites.hpp"

namespace kfree {

class Neighbours {
 public:
  // Makes lists for these sites, or keeps those there are. same_numbers: the sites are those of the last call, moved.
  void turn_to(const Sites& sites, bool same_numbers, int64_t n_rows, int n_threads);
  // Nothing is listed any more.
  void forget() { size_ = 0; }

  // Sites in a list, the one it belongs to included; 0 if there are no lists.
  int64_t size() const { return size_; }
  // The sites around site j, itself first, nearest first.
  const int32_t* list(int64_t j) const { return id_.data() + j * size_; }
  // How many of them, a multiple of LISTED_AT_ONCE, hold all sites within `reach` of site j; 0 if even all do not.
  int64_t within(int64_t j, double reach) const;
  // No site but the first n of the list is nearer to site j than this.
  double beyond(int64_t j, int64_t n) const {
    return static_cast<double>(gap_[j * (size_ + 1) + n]) - slack_[j];
  }
  const Table& table() const { return table_; }

 private:
  bool outdated(const Sites& sites);
  void make_lists(const Sites& sites, int n_threads);
  void list_around(const Sites& sites, int64_t j, std::vector<std::pair<float, int32_t>>& order);

  int64_t size_ = 0;
  std::vector<int32_t> id_;      // (k, size)
  std::vector<float> gap_;       // (k, size + 1), at least: how far these were when the lists were made, and the next one
  std::vector<double> slack_;    // (k,) how much nearer any of them may have come since
  std::vector<double> made_for_; // (k, d) where the sites were then
  Table table_;
};

}  // namespace kfree
