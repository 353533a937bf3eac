// Predicts how long each way to use several threads takes for one call of a program: one input, or
// a batch whose rows are divided among replicas (docs/methods.md, P1, P2).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converter/driver/compile.hpp"
#include "converter/solve/stage/choose_parallel.hpp"
#include "converter/solve/stage/side_by_side.hpp"
#include "converter/stage/inter_op.hpp"

namespace tenon::converter {

/// How the CPU's threads are divided. Their product is at most the number of threads; of modes in
/// which threads that wait help others, workers are the threads.
struct ThreadDivision {
  ParallelMode mode = ParallelMode::kIntra;
  int replicas = 1;
  int workers = 1;
  int threads_per_op = 1;
};

/// Returns every division of `threads` threads that uses all of them, in all modes but pipelines:
/// first one replica, then more. A program has at most `most_workers` workers.
[[nodiscard]] std::vector<ThreadDivision> DivisionsOf(int threads, int most_workers);

/// Predicts times of one board's programs.
class CallTimes {
 public:
  /// Borrows its argument.
  explicit CallTimes(const CompileOptions& options);

  /// Returns the time of `runs` runs of the compiled program, in which ops are shared between
  /// `threads_per_op` threads, by `replicas` copies.
  [[nodiscard]] Result<Picoseconds> OfCompiled(const Compiled& compiled, int threads_per_op,
                                               int replicas, int64_t runs) const;
  /// The same of a program between ops; of that many threads those that
  /// wait share the others' ops; 1: none does.
  [[nodiscard]] Result<Picoseconds> OfInter(const InterOpProgram& program, int helping_threads,
                                            int replicas, int64_t runs) const;

 private:
  [[nodiscard]] SideBySide Options(int replicas, int64_t runs) const;

  const CompileOptions& options_;
  SharedBandwidth memory_;
  std::vector<bool> devices_;  ///< by unit of the board: replicas take turns on it
};

}  // namespace tenon::converter
