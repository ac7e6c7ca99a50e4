#include "core/pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>

namespace kfree {
namespace {

constexpr std::chrono::milliseconds POLL_EVERY{50};
// How long a thread watches before it sleeps: as long as a search takes between two short passes. To wake all threads
// takes as long as such a pass, and one that wakes may have to wait for the caller's processor.
constexpr std::chrono::microseconds WATCH{200};

// Returns as soon as `happened()`, or after WATCH.
template <class Happened>
void watch(Happened happened) {
  constexpr int LOOKS = 64;  // between two looks at the clock
  const auto until = std::chrono::steady_clock::now() + WATCH;
  do {
    for (int i = 0; i < LOOKS; ++i)
      if (happened()) return;
    std::this_thread::yield();  // somebody else may need the processor
  } while (std::chrono::steady_clock::now() < until);
}

std::mutex creating;
std::atomic<Pool*> current{nullptr};
Pool* left_behind = nullptr;  // of the parent: its threads are not here, and its mutexes may stay locked

void after_fork() {
  left_behind = current.exchange(nullptr);
  new (&creating) std::mutex;
}

// Ends the threads when the process ends in order.
struct Closing {
  ~Closing() { delete current.exchange(nullptr); }
} closing;

}  // namespace

Pool& Pool::get() {
  if (Pool* pool = current.load()) return *pool;
  std::lock_guard lock(creating);
  static const int watching = pthread_atfork(nullptr, nullptr, after_fork);
  static_cast<void>(watching);
  if (!current.load()) current.store(new Pool);
  return *current.load();
}

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  offered_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Pool::start(Task& task, int n_helpers) {
  if (n_helpers <= 0) return;
  {
    std::lock_guard lock(mutex_);
    try {
      while (static_cast<int>(threads_.size()) < n_helpers) threads_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {
      // No more threads can be started: the existing ones and the caller do the work.
    }
    task.n_wanted_ = n_helpers;
    open_.push_back(&task);
    any_open_ = true;
  }
  offered_.notify_all();
}

void Pool::finish(Task& task, const std::function<void()>& poll) {
  std::unique_lock lock(mutex_);
  open_.erase(std::remove(open_.begin(), open_.end(), &task), open_.end());
  any_open_ = !open_.empty();
  lock.unlock();
  watch([&task] { return task.n_running_ == 0; });
  lock.lock();
  while (task.n_running_ > 0) {
    if (done_.wait_for(lock, POLL_EVERY) == std::cv_status::no_timeout) continue;
    lock.unlock();
    poll();
    lock.lock();
  }
}

void Pool::help() {
  std::unique_lock lock(mutex_, std::defer_lock);
  for (;;) {
    // A thread that waits for the mutex would sleep, too.
    watch([&] { return any_open_.load() && lock.try_lock(); });
    if (!lock) lock.lock();
    offered_.wait(lock, [this] { return closing_ || !open_.empty(); });
    if (closing_) return;
    Task& task = *open_.front();
    if (--task.n_wanted_ == 0) open_.pop_front();
    any_open_ = !open_.empty();
    ++task.n_running_;
    lock.unlock();
    task.work_();
    if (task.n_running_.fetch_sub(1) > 1) continue;
    // The caller may return from now on, and the task end with it.
    std::lock_guard notifying(mutex_);
    done_.notify_all();
  }
}

}  // namespace kfree
