// A batch that is handed in at once and divided among the replicas of a stream, row by row.
//
// Row r of a port is its r-th part along the first dimension. The stream's program makes a *shard*
// of so many rows at a time; replicas work on shards side by side, each reading its rows where they
// lie and writing its results where they belong. Where the rows left are fewer than a shard, they
// are copied to a shard of the batch run's own and their results back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/base/status.hpp"
#include "runtime/engine/host/host_memory.hpp"
#include "runtime/engine/host/input_stream.hpp"
#include "runtime/engine/loaded_plan.hpp"

namespace tenon {

class BatchRun {
 public:
  BatchRun() = default;
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;

  /// Arguments are borrowed; `stream` is open. A program that has no rows opens too and refuses
  /// to run. Errors: kOutOfMemory.
  Status Open(const LoadedPlan& plan, InputStream* stream);

  /// Runs `rows` rows (arrays as in StreamRequest, each with so many rows) and returns when all are
  /// over. Of several shards that fail, `outcome` is the first one's. Any thread; one batch at a
  /// time, others wait. Errors, where nothing was run: kInvalidArgument (no rows),
  /// kFailedPrecondition (the program has no rows, or they cannot be computed apart and `rows` is
  /// not their number).
  Status Run(size_t rows, const void* const* inputs, void* const* outputs, StreamOutcome* outcome);

  [[nodiscard]] size_t shard_rows() const { return shard_rows_; }
  [[nodiscard]] size_t HeldBytes() const;

 private:
  /// One input or output.
  struct Port {
    size_t row_bytes = 0;
    uint8_t* shard = nullptr;  ///< of the run's own; null: shards have one row
  };

  /// Said by the converter, which has looked at every op.
  [[nodiscard]] bool AreRowsApart() const {
    return program_.mode() == static_cast<uint8_t>(ProgramMode::kReplicas);
  }
  Status Allocate();
  void FindRows();
  [[nodiscard]] Status Check(size_t rows) const;
  Status Submit(size_t first, size_t rows, const void* const* inputs, void* const* outputs);
  void FillShard(size_t first, size_t rows, const void* const* inputs);
  void CollectOldest(StreamOutcome* outcome);

  ProgramView program_;
  InputStream* stream_ = nullptr;
  size_t input_count_ = 0;
  size_t port_count_ = 0;
  size_t shard_rows_ = 0;  ///< 0: the program has none
  size_t shard_bytes_ = 0;
  size_t window_ = 0;              ///< shards under way at most
  std::unique_ptr<Port[]> ports_;  ///< inputs, then outputs
  std::unique_ptr<void*[]> addresses_;
  std::unique_ptr<uint64_t[]> tickets_;  ///< of shards under way, a ring
  HostMemory shard_;
  std::mutex mutex_;
  size_t submitted_ = 0;  ///< shards of this batch
  size_t collected_ = 0;
};

}  // namespace tenon
