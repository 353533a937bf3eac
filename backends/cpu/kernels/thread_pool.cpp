#include "backends/cpu/kernels/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace tenon::cpu {
namespace {

constexpr int kMostThreads = 64;
/// Pieces per thread: enough that a thread which is held up leaves its share to others, few enough
/// that dealing them out costs nothing.
constexpr int kPiecesPerThread = 4;
/// Looks at the ticket before a worker goes to sleep: about 0.2 ms, longer than most ops that run
/// on one thread, so that it is still awake for the next that does not.
constexpr int kSpins = 16000;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

/// One job at a time. The ticket holds the job's number in its upper half and the next piece in
/// its lower; taking a piece is one compare-and-swap, which fails if the ticket has changed since
/// the job's description was read. The ticket is closed before a description is written, so that a
/// late worker takes nothing from a job that is over or not there yet.
class ThreadPool {
 public:
  explicit ThreadPool(int threads) {
    pthread_mutex_init(&mutex_, nullptr);
    pthread_cond_init(&wake_, nullptr);
    for (int i = 1; i < threads && i < kMostThreads; ++i) {
      if (pthread_create(&workers_[worker_count_], nullptr, WorkerMain, this) != 0) break;
      ++worker_count_;
    }
  }

  ~ThreadPool() {
    stop_.store(true);
    pthread_mutex_lock(&mutex_);
    pthread_cond_broadcast(&wake_);
    pthread_mutex_unlock(&mutex_);
    for (int i = 0; i < worker_count_; ++i) pthread_join(workers_[i], nullptr);
    pthread_cond_destroy(&wake_);
    pthread_mutex_destroy(&mutex_);
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const { return worker_count_ + 1; }

  void Run(int count, void (*body)(void*, int, int), void* context) {
    if (worker_count_ == 0 || busy_.test_and_set(std::memory_order_acquire)) {
      body(context, 0, count);
      return;
    }
    const int most = threads() * kPiecesPerThread;
    const int pieces = count < most ? count : most;
    const uint64_t last_job = ticket_.load(std::memory_order_relaxed) >> 32;
    ticket_.store(last_job << 32 | kClosed);
    // Released, and acquired in Work: who reads any of these sees the ticket closed.
    count_.store(count, std::memory_order_release);
    pieces_.store(pieces, std::memory_order_release);
    body_.store(body, std::memory_order_release);
    context_.store(context, std::memory_order_release);
    done_.store(0, std::memory_order_relaxed);
    ticket_.store((last_job + 1) << 32);
    if (sleepers_.load() > 0) {
      pthread_mutex_lock(&mutex_);
      pthread_cond_broadcast(&wake_);
      pthread_mutex_unlock(&mutex_);
    }
    Work();
    for (int spins = 0; done_.load(std::memory_order_acquire) < pieces; ++spins) {
      // A worker that holds the last piece may have lost its processor: let it have this one.
      if (spins < kSpins) {
        Pause();
      } else {
        sched_yield();
      }
    }
    busy_.clear(std::memory_order_release);
  }

 private:
  static constexpr uint64_t kClosed = UINT32_MAX;

  static void* WorkerMain(void* pool) {
    static_cast<ThreadPool*>(pool)->WorkerLoop();
    return nullptr;
  }

  void WorkerLoop() {
    uint64_t seen = 0;
    while (true) {
      int spins = 0;
      while (JobNumber() == seen && !stop_.load()) {
        if (++spins < kSpins) {
          Pause();
        } else {
          Sleep(seen);
        }
      }
      if (stop_.load()) return;
      seen = JobNumber();
      Work();
    }
  }

  [[nodiscard]] uint64_t JobNumber() const { return ticket_.load() >> 32; }

  void Sleep(uint64_t seen) {
    pthread_mutex_lock(&mutex_);
    // Counted before the last look: who publishes a job afterwards sees the sleeper and wakes it.
    sleepers_.fetch_add(1);
    while (JobNumber() == seen && !stop_.load()) pthread_cond_wait(&wake_, &mutex_);
    sleepers_.fetch_sub(1);
    pthread_mutex_unlock(&mutex_);
  }

  /// Takes pieces of the current job until none are left.
  void Work() {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    while (true) {
      const auto piece = static_cast<int64_t>(ticket & kClosed);
      const int64_t count = count_.load(std::memory_order_acquire);
      const int64_t pieces = pieces_.load(std::memory_order_acquire);
      auto* const body = body_.load(std::memory_order_acquire);
      void* const context = context_.load(std::memory_order_acquire);
      if (piece >= pieces) return;
      if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
        continue;
      }
      body(context, static_cast<int>(count * piece / pieces),
           static_cast<int>(count * (piece + 1) / pieces));
      done_.fetch_add(1, std::memory_order_acq_rel);
      ticket = ticket_.load(std::memory_order_acquire);
    }
  }

  // What workers wait on, and what the caller waits on, on cache lines of their own.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<int> done_{0};
  alignas(64) std::atomic<int> count_{0};
  std::atomic<int> pieces_{0};
  std::atomic<void (*)(void*, int, int)> body_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  pthread_mutex_t mutex_;
  pthread_cond_t wake_;
  pthread_t workers_[kMostThreads];
  int worker_count_ = 0;
};

void RunOnPool(const ParallelRunner& runner, int count, void (*body)(void*, int, int),
               void* context) {
  static_cast<ThreadPool*>(runner.team)->Run(count, body, context);
}

}  // namespace

ParallelRunner MakeThreadPool(int threads) {
  ParallelRunner runner;
  if (threads <= 1) return runner;
  auto* pool = new (std::nothrow) ThreadPool(threads);
  if (pool == nullptr) return runner;
  runner.threads = pool->threads();
  runner.team = pool;
  runner.run = RunOnPool;
  return runner;
}

void FreeThreadPool(ParallelRunner& runner) {
  delete static_cast<ThreadPool*>(runner.team);
  runner = ParallelRunner();
}

}  // namespace tenon::cpu
