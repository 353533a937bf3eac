// The seam through which kernels use several threads. The core creates no threads: the host gives
// an implementation, firmware gives none.
#pragma once

namespace tenon {

/// Runs `body(context, begin, end)` over a partition of [0, count) on the threads of one team and
/// returns when all parts are done.
struct ParallelRunner {
  int threads = 1;
  void* team = nullptr;  ///< the implementation's own
  void (*run)(const ParallelRunner& runner, int count, void (*body)(void*, int, int),
              void* context) = nullptr;
};

/// Calls `body(begin, end)` over parts of [0, count): on `runner`'s threads, or here and now where
/// there is no runner or only one part. `body` must not throw and parts must not overlap in what
/// they write. Allocates nothing.
template <typename Body>
void ParallelFor(const ParallelRunner* runner, int count, const Body& body) {
  if (count <= 0) return;
  if (runner == nullptr || runner->run == nullptr || runner->threads <= 1 || count == 1) {
    body(0, count);
    return;
  }
  runner->run(
      *runner, count,
      [](void* context, int begin, int end) { (*static_cast<const Body*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// True if threads that take whole items of [0, count) are busy about equally long.
[[nodiscard]] inline bool SharesEvenly(const ParallelRunner* runner, int count) {
  constexpr int kMany = 4;
  const int threads = runner == nullptr ? 1 : runner->threads;
  return count % threads == 0 || count >= kMany * threads;
}

}  // namespace tenon
