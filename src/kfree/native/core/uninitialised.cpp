#include "core/uninitialised.hpp"

#include <algorithm>
#include <deque>
#include <mutex>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace kfree {
namespace {

// Smaller blocks come from memory that the system does not take back each time.
constexpr std::size_t LEAST = std::size_t{1} << 17, MOST = std::size_t{1} << 26;

struct Block {
  void* data;
  std::size_t n_bytes;
};

// Never destroyed: vectors of other static objects may be freed after it would be.
struct Kept {
  std::mutex mutex;
  std::deque<Block> blocks;  // oldest first
  std::size_t n_bytes = 0;
};

Kept& kept() {
  static Kept* const all = new Kept;
  return *all;
}

}  // namespace

// The lock is only tried: where another thread has it, or had it when this process was forked, memory is fresh.
void* take_block(std::size_t n_bytes) {
  if (n_bytes >= LEAST) {
    Kept& all = kept();
    std::unique_lock lock(all.mutex, std::try_to_lock);
    if (lock) {
      const auto found = std::find_if(all.blocks.begin(), all.blocks.end(),
                                      [n_bytes](const Block& block) { return block.n_bytes == n_bytes; });
      if (found != all.blocks.end()) {
        void* data = found->data;
        all.n_bytes -= n_bytes;
        all.blocks.erase(found);
        return data;
      }
    }
  }
  return ::operator new(n_bytes);
}

void give_back_block(void* block, std::size_t n_bytes) noexcept {
  if (n_bytes >= LEAST && n_bytes <= MOST) {
    Kept& all = kept();
    std::unique_lock lock(all.mutex, std::try_to_lock);
    if (lock) {
      try {
        all.blocks.push_back({block, n_bytes});
      } catch (const std::bad_alloc&) {
        return ::operator delete(block);
      }
      for (all.n_bytes += n_bytes; all.n_bytes > MOST; all.blocks.pop_front()) {
        all.n_bytes -= all.blocks.front().n_bytes;
        ::operator delete(all.blocks.front().data);
      }
      return;
    }
  }
  ::operator delete(block);
}

void give_back_free_memory() noexcept {
  Kept& all = kept();
  if (std::unique_lock lock(all.mutex, std::try_to_lock); lock) {
    for (const Block& block : all.blocks) ::operator delete(block.data);
    all.blocks.clear();
    all.n_bytes = 0;
  }
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace kfree
