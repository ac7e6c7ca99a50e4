// Vectors whose new elements hold anything until they are written, so that all threads can write them first.
#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace kfree {

// Memory of a pass is used again in the next one: for wide sites, fresh pages take longer than what is written to them.
// Some blocks are kept, 64 MiB at most. A block of the same size is given out again; it holds anything.
void* take_block(std::size_t n_bytes);
void give_back_block(void* block, std::size_t n_bytes) noexcept;

// Gives all free memory back to the system: blocks that are kept, and what the C library keeps of freed memory.
void give_back_free_memory() noexcept;

template <class T>
struct UninitialisedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UninitialisedAllocator<U>;
  };
  T* allocate(std::size_t n) { return static_cast<T*>(take_block(n * sizeof(T))); }
  void deallocate(T* place, std::size_t n) noexcept { give_back_block(place, n * sizeof(T)); }
  template <class U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
};

template <class T>
using Uninitialised = std::vector<T, UninitialisedAllocator<T>>;

}  // namespace kfree
