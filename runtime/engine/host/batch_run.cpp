#include "runtime/engine/host/batch_run.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/base/round_up.hpp"
#include "runtime/engine/plan_memory.hpp"

namespace tenon {
namespace {

constexpr size_t kShardAlignment = 64;

}  // namespace

Status BatchRun::Open(const LoadedPlan& plan, InputStream* stream) {
  program_ = plan.program();
  stream_ = stream;
  input_count_ = program_.input_count();
  port_count_ = input_count_ + program_.output_count();
  window_ = stream->in_flight_limit();
  return Allocate();
}

Status BatchRun::Allocate() {
  ports_.reset(new (std::nothrow) Port[port_count_]());
  addresses_.reset(new (std::nothrow) void*[port_count_]());
  tickets_.reset(new (std::nothrow) uint64_t[window_]());
  const bool has_lists = ports_ != nullptr && addresses_ != nullptr && tickets_ != nullptr;
  if (has_lists) FindRows();
  TENON_ENSURE(has_lists && (shard_bytes_ == 0 || shard_.Allocate(shard_bytes_, kShardAlignment)),
               kOutOfMemory, "no memory for a shard of {0} bytes",
               static_cast<int64_t>(shard_bytes_));
  uint8_t* next = shard_.bytes().data();
  for (size_t i = 0; i < port_count_ && shard_bytes_ > 0; ++i) {
    ports_[i].shard = next;
    next += RoundUp(ports_[i].row_bytes * shard_rows_, kShardAlignment);
  }
  return OkStatus();
}

/// Finds the first dimension that all ports have in common, and what a row of each takes.
void BatchRun::FindRows() {
  for (size_t i = 0; i < port_count_; ++i) {
    const TensorInfo tensor = program_.tensor(PortAt(program_, i).tensor);
    const size_t rows = tensor.dims.size() > 0 ? static_cast<size_t>(tensor.dims[0]) : 0;
    if (i > 0 && rows != shard_rows_) shard_rows_ = 0;
    if (i == 0) shard_rows_ = rows;
    if (shard_rows_ == 0) return;
    size_t bytes = static_cast<size_t>(DTypeBytes(tensor.dtype));
    for (size_t axis = 1; axis < tensor.dims.size(); ++axis) {
      bytes *= static_cast<size_t>(tensor.dims[axis]);
    }
    ports_[i].row_bytes = bytes;
  }
  for (size_t i = 0; i < port_count_ && shard_rows_ > 1 && AreRowsApart(); ++i) {
    shard_bytes_ += RoundUp(ports_[i].row_bytes * shard_rows_, kShardAlignment);
  }
}

Status BatchRun::Check(size_t rows) const {
  if (shard_rows_ == 0) {
    return Status(StatusCode::kFailedPrecondition,
                  "program '{s}' has no batch: its inputs and outputs have no first dimension in "
                  "common")
        .About(program_.name());
  }
  TENON_ENSURE(rows > 0, kInvalidArgument, "a batch has at least one row");
  for (size_t i = 0; i < port_count_; ++i) {
    const size_t most = SIZE_MAX / std::max<size_t>(ports_[i].row_bytes, 1);
    TENON_ENSURE(rows <= most, kInvalidArgument,
                 "a batch of {0} rows: no array has so many, {1} at most of this plan's",
                 static_cast<int64_t>(std::min<size_t>(rows, INT64_MAX)),
                 static_cast<int64_t>(std::min<size_t>(most, INT64_MAX)));
  }
  if (shard_rows_ > 1 && !AreRowsApart() && rows != shard_rows_) {
    return Status(StatusCode::kFailedPrecondition,
                  "program '{s}' computes {0} rows together, {1} were given: convert with "
                  "--parallel=replicas and open the plan's program 'shards'",
                  static_cast<int64_t>(shard_rows_), static_cast<int64_t>(rows))
        .About(program_.name());
  }
  return OkStatus();
}

Status BatchRun::Run(size_t rows, const void* const* inputs, void* const* outputs,
                     StreamOutcome* outcome) {
  TENON_RETURN_IF_ERROR(Check(rows));
  *outcome = StreamOutcome{};
  const std::lock_guard<std::mutex> lock(mutex_);
  submitted_ = collected_ = 0;
  Status status;
  size_t first = 0;
  for (; first < rows && status.ok(); first += shard_rows_) {
    if (submitted_ - collected_ == window_) CollectOldest(outcome);
    const size_t left = rows - first;
    status = Submit(first, left < shard_rows_ ? left : shard_rows_, inputs, outputs);
  }
  while (collected_ < submitted_) CollectOldest(outcome);
  const size_t rest = rows % shard_rows_;
  for (size_t i = input_count_; i < port_count_ && rest > 0 && status.ok(); ++i) {
    auto* to = static_cast<uint8_t*>(outputs[i - input_count_]);
    std::memcpy(to + (rows - rest) * ports_[i].row_bytes, ports_[i].shard,
                rest * ports_[i].row_bytes);
  }
  return status;
}

/// Hands in the shard that begins at row `first` and has `rows` rows of its own.
Status BatchRun::Submit(size_t first, size_t rows, const void* const* inputs,
                        void* const* outputs) {
  const bool is_whole = rows == shard_rows_;
  if (!is_whole) FillShard(first, rows, inputs);
  for (size_t i = 0; i < port_count_; ++i) {
    const bool is_input = i < input_count_;
    // The plan check has proven that no op writes to an input's storage.
    auto* base =
        static_cast<uint8_t*>(is_input ? const_cast<void*>(inputs[i]) : outputs[i - input_count_]);
    addresses_[i] = is_whole ? base + first * ports_[i].row_bytes : ports_[i].shard;
  }
  uint64_t ticket = 0;
  TENON_RETURN_IF_ERROR(
      stream_->Submit(addresses_.get(), addresses_.get() + input_count_, kNoDeadline, &ticket));
  tickets_[submitted_ % window_] = ticket;
  ++submitted_;
  return OkStatus();
}

/// Rows that nobody asked for are computed too: they get the values of the first one, so that they
/// take no longer than others.
void BatchRun::FillShard(size_t first, size_t rows, const void* const* inputs) {
  for (size_t i = 0; i < input_count_; ++i) {
    const size_t bytes = ports_[i].row_bytes;
    const auto* from = static_cast<const uint8_t*>(inputs[i]) + first * bytes;
    std::memcpy(ports_[i].shard, from, rows * bytes);
    for (size_t row = rows; row < shard_rows_; ++row) {
      std::memcpy(ports_[i].shard + row * bytes, from, bytes);
    }
  }
}

void BatchRun::CollectOldest(StreamOutcome* outcome) {
  StreamOutcome own;
  // Without a deadline, and with a ticket of this batch, there is no way to fail.
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a stream has one input under way at least
  (void)stream_->Wait(tickets_[collected_ % window_], kNoDeadline, &own);
  ++collected_;
  if (outcome->code == StatusCode::kOk) *outcome = own;
}

size_t BatchRun::HeldBytes() const {
  return port_count_ * (sizeof(Port) + sizeof(void*)) + window_ * sizeof(uint64_t) +
         shard_.bytes().size();
}

}  // namespace tenon
