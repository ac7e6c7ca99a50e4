// Work for all threads: numbered blocks handed out in order, Ctrl-C noticed on the way. Of two threads, the calling one
// takes them from the front and the other from the back: each then has most of its blocks of the last pass in its cache.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace kfree {

// Thrown when the interrupt check said stop.
struct Interrupted : std::exception {};

// Called a few times a second from the calling thread; true means stop. Set once by the binding.
extern bool (*interrupt_requested)();

inline int64_t n_blocks(int64_t n, int64_t size) { return (n + size - 1) / size; }

class Blocks;

// One thread's view of the work.
class Worker {
 public:
  Worker(Blocks& blocks, bool is_caller) : blocks_(blocks), is_caller_(is_caller) {}
  // The next block, or −1 when none is left or the call was stopped.
  int64_t next();
  // To be called between tiles; false means stop.
  bool go_on();

 private:
  Blocks& blocks_;
  bool is_caller_;
};

class Blocks {
 public:
  explicit Blocks(int64_t n) : n_(n) {}
  // Runs `work` on up to n_threads threads, the calling one among them, and rethrows what they threw.
  void run(int n_threads, const std::function<void(Worker&)>& work);
  // The same on the calling thread alone, where one block needs what an earlier one did.
  void run_alone(const std::function<void(Worker&)>& work);

 private:
  friend class Worker;
  void guarded(const std::function<void(Worker&)>& work, bool is_caller);
  void poll();
  void rethrow();
  void stop();

  const int64_t n_;
  int n_helpers_ = 0;
  std::atomic<int64_t> n_taken_{0};
  int64_t n_from_front_ = 0, n_from_back_ = 0;  // of two threads, each has its own
  std::atomic<bool> stopped_{false};
  bool interrupted_ = false;
  std::exception_ptr error_;
  std::mutex mutex_;
};

// Calls body(begin, end) for parts of 0…n−1, on all threads; `cost` is that of one of them, in additions or so.
template <class Body>
void parallel_for(int64_t n, int64_t cost, int n_threads, Body body) {
  constexpr int64_t COST_AT_ONCE = 1 << 15;
  const int64_t at_once = std::max<int64_t>(1, COST_AT_ONCE / std::max<int64_t>(cost, 1));
  Blocks(n_blocks(n, at_once)).run(n_threads, [&](Worker& worker) {
    for (int64_t b; (b = worker.next()) >= 0;) body(b * at_once, std::min(n, (b + 1) * at_once));
  });
}

// Processor time that calling threads have spent in Blocks::run since this was first called, in seconds: what other
// threads can take part in.
double parallel_seconds();

}  // namespace kfree
