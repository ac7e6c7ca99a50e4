// Threads for one call: numbered blocks handed out in order, results joined in order, Ctrl-C noticed on the way.
// Threads live only as long as the call, so a process may fork at any time between two calls.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace kfree {

// Thrown when the interrupt check said stop.
struct Interrupted : std::exception {};

// Asked a few times a second from the calling thread; true means stop. Set once by the binding.
extern bool (*interrupt_requested)();

inline int64_t n_blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }

class Blocks;

// One thread's view of the work.
class Worker {
 public:
  Worker(Blocks& blocks, bool is_caller) : blocks_(blocks), is_caller_(is_caller) {}
  // The next block, or −1 when none is left or the call was stopped.
  int64_t next();
  // To be asked between tiles; false means give up.
  bool go_on();
  // Runs `join` after the same has run for every earlier block.
  void in_turn(int64_t block, const std::function<void()>& join);

 private:
  Blocks& blocks_;
  bool is_caller_;
};

class Blocks {
 public:
  explicit Blocks(int64_t n) : n_(n) {}
  // Runs `work` on up to n_threads threads, the calling one among them, and rethrows what they threw.
  void run(int n_threads, const std::function<void(Worker&)>& work);

 private:
  friend class Worker;
  void guarded(const std::function<void(Worker&)>& work, bool is_caller);
  void poll();
  void stop();

  const int64_t n_;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> turn_{0};
  int running_ = 0;
  bool interrupted_ = false;
  std::exception_ptr error_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace kfree
