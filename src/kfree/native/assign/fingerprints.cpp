// Fingerprints of clusters: two assignments are compared without their labels.
#include <algorithm>
#include <mutex>

#include "assign/labels.hpp"
#include "assign/passes.hpp"
#include "core/parallel.hpp"

namespace kfree {
namespace {

// The output function of SplitMix64 (Steele, Lea & Flood 2014).
uint64_t hashed(uint64_t row) {
  uint64_t z = (row + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

void fingerprints(const Rows& rows, const int32_t* label, int64_t k, int n_threads, uint64_t* sum) {
  std::fill_n(sum, k, uint64_t{0});
  const auto first_row = static_cast<uint64_t>(rows.first_block * BLOCK);
  std::mutex adding;
  Blocks(n_blocks(rows.n, BLOCK)).run(n_threads, [&](Worker& worker) {
    std::vector<uint64_t> own(k, 0);
    for (int64_t b; (b = worker.next()) >= 0;) {
      const int64_t begin = b * BLOCK, end = std::min(rows.n, (b + 1) * BLOCK);
      require_labels(label + begin, end - begin, k);
      for (int64_t i = begin; i < end; ++i) own[label[i]] += hashed(first_row + i);
    }
    std::lock_guard lock(adding);
    for (int64_t j = 0; j < k; ++j) sum[j] += own[j];
  });
}

}  // namespace kfree
