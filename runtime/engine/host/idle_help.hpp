// Workers that have nothing to do help others with their ops: between ops and inside ops at once,
// on one set of threads.
#pragma once

#include <atomic>
#include <cstddef>

#include "runtime/backend_api/parallel.hpp"

namespace tenon {

/// One op at a time is open for help. Its pieces are taken by the worker whose op it is and by all
/// that come to help, as they are free; a second worker that comes to an op meanwhile does it
/// alone. So there are never more threads at work than workers. Results do not depend on who helps:
/// kernels promise that for any number of threads.
class IdleHelp {
 public:
  IdleHelp() = default;
  IdleHelp(const IdleHelp&) = delete;
  IdleHelp& operator=(const IdleHelp&) = delete;

  /// A runner for the kernels of any of `workers` workers. `wake(context)` is called when an op has
  /// been opened, and makes those that sleep look at `HasWork`.
  [[nodiscard]] ParallelRunner Runner(size_t workers, void (*wake)(void*), void* context);

  /// Whether a worker without anything to do could help now.
  [[nodiscard]] bool HasWork() const { return is_open_ && next_ < count_; }
  /// Takes pieces of the op that is open until there are none. Any thread but the op's own.
  void Help();

 private:
  static void Run(const ParallelRunner& runner, int count, void (*body)(void*, int, int),
                  void* context);
  void TakePieces();

  void (*wake_)(void*) = nullptr;
  void* wake_context_ = nullptr;
  int workers_ = 1;

  std::atomic<bool> is_taken_{false};  ///< by a worker that shares its op
  std::atomic<bool> is_open_{false};   ///< what follows may be read
  std::atomic<int> helpers_{0};        ///< that are about to read it, or do
  std::atomic<int> next_{0};           ///< first index that nobody has taken
  std::atomic<int> count_{0};
  int piece_ = 1;
  void (*body_)(void*, int, int) = nullptr;
  void* context_ = nullptr;
};

}  // namespace tenon
