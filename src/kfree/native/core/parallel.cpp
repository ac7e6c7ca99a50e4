#include "core/parallel.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "core/pool.hpp"

namespace kfree {
namespace {

constexpr std::chrono::milliseconds POLL_EVERY{50};

// Asked for between tiles, of which some take half a microsecond: a clock of a few milliseconds' resolution is read in a
// fifth of the time.
int64_t now_ms() {
#if defined(CLOCK_MONOTONIC_COARSE)
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * int64_t{1000} + now.tv_nsec / 1000000;
#else
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
#endif
}

// Of the calling thread.
int64_t thread_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

// Asking for the time takes as long as a small pass, so nothing is measured before parallel_seconds was called.
std::atomic<bool> measuring{false};
std::atomic<int64_t> parallel_ns{0};

}  // namespace

bool (*interrupt_requested)() = nullptr;

int64_t Worker::next() {
  if (!go_on()) return -1;
  const int64_t n_taken = blocks_.n_taken_.fetch_add(1);
  if (n_taken >= blocks_.n_) return -1;
  if (blocks_.n_helpers_ != 1) return n_taken;
  return is_caller_ ? blocks_.n_from_front_++ : blocks_.n_ - 1 - blocks_.n_from_back_++;
}

bool Worker::go_on() {
  if (is_caller_) blocks_.poll();
  return !blocks_.stopped_.load(std::memory_order_relaxed);
}

void Blocks::poll() {
  if (!interrupt_requested) return;
  // Kept between calls, so that many short ones are polled like one long one.
  static thread_local int64_t polled_at_ms = 0;
  const int64_t now = now_ms();
  if (now - polled_at_ms < POLL_EVERY.count()) return;
  polled_at_ms = now;
  if (!interrupted_ && interrupt_requested()) {
    interrupted_ = true;
    stop();
  }
}

void Blocks::stop() { stopped_.store(true); }

void Blocks::guarded(const std::function<void(Worker&)>& work, bool is_caller) {
  try {
    Worker worker(*this, is_caller);
    work(worker);
  } catch (...) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    stop();
  }
}

void Blocks::run(int n_threads, const std::function<void(Worker&)>& work) {
  const bool measured = measuring.load(std::memory_order_relaxed);
  const int64_t begin_ns = measured ? thread_ns() : 0;
  n_helpers_ = static_cast<int>(std::min<int64_t>(std::max(n_threads, 1), n_)) - 1;
  Task task([this, &work] { guarded(work, false); });
  if (n_helpers_ > 0) Pool::get().start(task, n_helpers_);
  guarded(work, true);
  if (n_helpers_ > 0) Pool::get().finish(task, [this] { poll(); });
  if (measured) parallel_ns += thread_ns() - begin_ns;
  rethrow();
}

void Blocks::run_alone(const std::function<void(Worker&)>& work) {
  guarded(work, true);
  rethrow();
}

void Blocks::rethrow() {
  if (error_) std::rethrow_exception(error_);
  if (interrupted_) throw Interrupted();
}

double parallel_seconds() {
  measuring = true;
  return 1e-9 * static_cast<double>(parallel_ns.load());
}

}  // namespace kfree
