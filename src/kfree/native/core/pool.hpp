// Threads that wait for work between calls, because starting a thread takes longer than a pass of a millisecond.
// A forked child has none of them and starts its own.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kfree {

// Work that helper threads do beside the calling thread. It returns when no work is left.
class Task {
 public:
  explicit Task(std::function<void()> work) : work_(std::move(work)) {}

 private:
  friend class Pool;
  const std::function<void()> work_;
  int n_wanted_ = 0;
  std::atomic<int> n_running_{0};
};

class Pool {
 public:
  // That of this process.
  static Pool& get();
  ~Pool();

  // Up to n_helpers threads take part in the task as soon as they are free. If several threads call at once they share
  // the helpers; none of them waits for one.
  void start(Task& task, int n_helpers);
  // No thread starts from now on; returns when the running ones are done. Meanwhile `poll` is called a few times a
  // second.
  void finish(Task& task, const std::function<void()>& poll);

 private:
  void help();

  std::mutex mutex_;
  std::condition_variable offered_, done_;
  std::deque<Task*> open_;
  std::atomic<bool> any_open_{false};  // for threads that watch without the mutex
  std::vector<std::thread> threads_;
  bool closing_ = false;
};

}  // namespace kfree
