#include "backends/cpu/kernels/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#include "runtime/base/flush_subnormals.hpp"
#include "runtime/base/home_process.hpp"

namespace tenon::cpu {
namespace {

/// Pieces per thread: enough that a thread which is held up leaves its share to others, few enough
/// that taking them costs nothing.
constexpr int kPiecesPerThread = 8;
/// Looks at its share before a worker goes to sleep: about 0.2 ms, longer than most ops that run
/// on one thread, so that it is still awake for the next that does not.
constexpr int kSpins = 16000;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

/// The pieces of one thread, on a cache line of their own with all that running them takes.
///
/// The ticket holds the job's number in its upper half and the pieces that are left in its lower:
/// the first, and the one after the last, of 16 bits each. Taking a piece is one compare-and-swap,
/// which fails if the ticket has changed since the job's description was read. A ticket is closed
/// (no pieces) before a description is written, so that a late worker takes nothing from a job that
/// is over or not there yet.
struct alignas(64) Share {
  std::atomic<uint64_t> ticket{0};
  std::atomic<void (*)(void*, int, int)> body{nullptr};
  std::atomic<void*> context{nullptr};
  std::atomic<int> count{0};
  std::atomic<int> pieces{0};
};

/// One job at a time. Thread i owns the i-th share of its pieces and takes others' only once its
/// own are gone: of ops which follow each other a thread gets the same part, whose data it holds in
/// its caches.
class ThreadPool {
 public:
  ThreadPool() {
    pthread_mutex_init(&mutex_, nullptr);
    pthread_cond_init(&wake_, nullptr);
  }

  /// Starts the workers, as many as the system gives. False: no memory. Once per object.
  bool Start(int threads) {
    shares_.reset(new (std::nothrow) Share[static_cast<size_t>(threads)]);
    workers_.reset(new (std::nothrow) Worker[static_cast<size_t>(threads)]());
    if (shares_ == nullptr || workers_ == nullptr) return false;
    for (int i = 1; i < threads; ++i) {
      Worker& worker = WorkerOf(worker_count_);
      worker = {this, i, {}};
      if (pthread_create(&worker.thread, nullptr, WorkerMain, &worker) != 0) break;
      ++worker_count_;
    }
    return true;
  }

  ~ThreadPool() {
    stop_.store(true);
    pthread_mutex_lock(&mutex_);
    pthread_cond_broadcast(&wake_);
    pthread_mutex_unlock(&mutex_);
    for (int i = 0; i < worker_count_; ++i) pthread_join(WorkerOf(i).thread, nullptr);
    pthread_cond_destroy(&wake_);
    pthread_mutex_destroy(&mutex_);
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] int threads() const { return worker_count_ + 1; }
  /// False in a forked process: it has none of the workers, and nobody can wait for them.
  [[nodiscard]] bool IsHere() const { return home_.IsHere(); }

  void Run(int count, void (*body)(void*, int, int), void* context) {
    if (worker_count_ == 0 || !IsHere() || busy_.test_and_set(std::memory_order_acquire)) {
      body(context, 0, count);
      return;
    }
    const int most = threads() * kPiecesPerThread;
    const int pieces = count < most ? count : most;
    done_.store(0, std::memory_order_relaxed);
    ++job_;
    // The caller's own last: a worker is to start while it is written.
    for (int i = threads() - 1; i >= 0; --i) Publish(i, count, pieces, body, context);
    // Writes, so that either it sees who goes to sleep, or the sleeper sees the job.
    if (sleepers_.fetch_add(0) > 0) {
      pthread_mutex_lock(&mutex_);
      pthread_cond_broadcast(&wake_);
      pthread_mutex_unlock(&mutex_);
    }
    Work(0);
    for (int spins = 0; done_.load(std::memory_order_acquire) < pieces; ++spins) {
      // A worker with the last piece may have lost its processor: yield it this one.
      if (spins < kSpins) {
        Pause();
      } else {
        sched_yield();
      }
    }
    busy_.clear(std::memory_order_release);
  }

 private:
  struct Worker {
    ThreadPool* pool;
    int index;  ///< of its share
    pthread_t thread;
  };

  [[nodiscard]] Share& ShareOf(int index) const { return shares_[static_cast<size_t>(index)]; }
  [[nodiscard]] Worker& WorkerOf(int index) const { return workers_[static_cast<size_t>(index)]; }

  static void* WorkerMain(void* argument) {
    const FlushSubnormals flush;  // as on the thread that runs the op
    const auto& worker = *static_cast<Worker*>(argument);
    worker.pool->WorkerLoop(worker.index);
    return nullptr;
  }

  void Publish(int index, int count, int pieces, void (*body)(void*, int, int), void* context) {
    Share& share = ShareOf(index);
    const int64_t first = int64_t{pieces} * index / threads();
    const int64_t end = int64_t{pieces} * (index + 1) / threads();
    share.ticket.store(uint64_t{job_ - 1} << 32, std::memory_order_relaxed);
    // Released, and acquired in TakeFrom: who reads any of these sees the ticket closed.
    share.body.store(body, std::memory_order_release);
    share.context.store(context, std::memory_order_release);
    share.count.store(count, std::memory_order_release);
    share.pieces.store(pieces, std::memory_order_release);
    share.ticket.store(uint64_t{job_} << 32 | static_cast<uint64_t>(first << 16 | end),
                       std::memory_order_release);
  }

  void WorkerLoop(int index) {
    uint32_t seen = 0;
    while (true) {
      int spins = 0;
      while (JobOf(index) == seen && !stop_.load(std::memory_order_relaxed)) {
        if (++spins < kSpins) {
          Pause();
        } else {
          Sleep(index, seen);
        }
      }
      if (stop_.load()) return;
      seen = JobOf(index);
      Work(index);
    }
  }

  [[nodiscard]] uint32_t JobOf(int index) const {
    return static_cast<uint32_t>(ShareOf(index).ticket.load(std::memory_order_acquire) >> 32);
  }

  void Sleep(int index, uint32_t seen) {
    pthread_mutex_lock(&mutex_);
    // Counted before the last look: who publishes a job afterwards sees the sleeper and wakes it.
    sleepers_.fetch_add(1);
    while (JobOf(index) == seen && !stop_.load()) pthread_cond_wait(&wake_, &mutex_);
    sleepers_.fetch_sub(1);
    pthread_mutex_unlock(&mutex_);
  }

  /// Takes pieces of the current job until none are left: thread `own`'s, then the others'.
  void Work(int own) {
    int done = TakeFrom(ShareOf(own), true);
    for (int i = 1; i < threads(); ++i) {
      const int other = own + i < threads() ? own + i : own + i - threads();
      done += TakeFrom(ShareOf(other), false);
    }
    if (done > 0) done_.fetch_add(done, std::memory_order_acq_rel);
  }

  /// Runs pieces of a share, from the front if it is the thread's own, else from the back, until
  /// none are left. Their number.
  static int TakeFrom(Share& share, bool is_own) {
    int taken = 0;
    uint64_t ticket = share.ticket.load(std::memory_order_acquire);
    while (true) {
      const auto first = static_cast<int64_t>(ticket >> 16 & 0xFFFF);
      const auto end = static_cast<int64_t>(ticket & 0xFFFF);
      if (first >= end) return taken;
      auto* const body = share.body.load(std::memory_order_acquire);
      void* const context = share.context.load(std::memory_order_acquire);
      const int64_t count = share.count.load(std::memory_order_acquire);
      const int64_t pieces = share.pieces.load(std::memory_order_acquire);
      const uint64_t left = is_own ? ticket + (1 << 16) : ticket - 1;
      if (!share.ticket.compare_exchange_weak(ticket, left, std::memory_order_acq_rel,
                                              std::memory_order_acquire)) {
        continue;
      }
      const int64_t piece = is_own ? first : end - 1;
      body(context, static_cast<int>(count * piece / pieces),
           static_cast<int>(count * (piece + 1) / pieces));
      ++taken;
      ticket = share.ticket.load(std::memory_order_acquire);
    }
  }

  HomeProcess home_;
  std::unique_ptr<Share[]> shares_;
  alignas(64) std::atomic<int> done_{0};
  alignas(64) std::atomic<int> sleepers_{0};
  uint32_t job_ = 0;  ///< the caller's
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  alignas(64) std::atomic<bool> stop_{false};
  pthread_mutex_t mutex_;
  pthread_cond_t wake_;
  std::unique_ptr<Worker[]> workers_;
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
  auto* pool = new (std::nothrow) ThreadPool();
  if (pool == nullptr || !pool->Start(threads)) {
    delete pool;
    return runner;
  }
  runner.threads = pool->threads();
  runner.team = pool;
  runner.run = RunOnPool;
  return runner;
}

void FreeThreadPool(ParallelRunner& runner) {
  auto* const pool = static_cast<ThreadPool*>(runner.team);
  // A forked process leaves its copy alone: waiting for threads that it has not would never end.
  if (pool != nullptr && pool->IsHere()) delete pool;
  runner = ParallelRunner();
}

}  // namespace tenon::cpu
