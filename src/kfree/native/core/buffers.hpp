// Reused memory: fresh pages would take as much time as the sums written to them.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace kfree {

struct Buffer {
  std::unique_ptr<double[]> data;
  int64_t size = 0;
};

class Buffers {
 public:
  // At least so large; holds anything.
  Buffer take(int64_t size) {
    {
      std::lock_guard lock(mutex_);
      for (Buffer& buffer : free_)
        if (buffer.size >= size) {
          std::swap(buffer, free_.back());
          Buffer found = std::move(free_.back());
          free_.pop_back();
          return found;
        }
      if (!free_.empty()) free_.pop_back();  // too small for the times, it seems
    }
    return {std::unique_ptr<double[]>(new double[size]), size};
  }
  void give_back(Buffer buffer) {
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  std::mutex mutex_;
  std::vector<Buffer> free_;
};

}  // namespace kfree
