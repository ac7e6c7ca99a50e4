// Vectors whose new elements hold anything until they are written, so that all threads can write them first.
#pragma once
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace kfree {

template <class T>
struct UninitialisedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = UninitialisedAllocator<U>;
  };
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
