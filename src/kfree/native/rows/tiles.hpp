// Rows in tiles, on all threads.
#pragma once
#include <algorithm>

#include "core/parallel.hpp"
#include "rows/rows.hpp"

namespace kfree {

// Calls visit(scratch, begin, end) for the tiles of every block, on all threads.
template <class Visit>
void for_tiles(int64_t first, int64_t n, int n_threads, Visit visit) {
  Blocks(n_blocks(n - first, BLOCK)).run(n_threads, [&](Worker& worker) {
    Scratch scratch;
    for (int64_t b; (b = worker.next()) >= 0;) {
      const int64_t block_end = std::min(n, first + (b + 1) * BLOCK);
      for (int64_t begin = first + b * BLOCK; begin < block_end && worker.go_on(); begin += TILE)
        visit(scratch, begin, std::min(block_end, begin + TILE));
    }
  });
}

}  // namespace kfree
