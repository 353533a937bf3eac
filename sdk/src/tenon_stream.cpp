// Streams of tenon.h: threads and heap.
#include <cstring>
#include <new>

#include "runtime/base/home_process.hpp"
#include "runtime/engine/host/clock.hpp"
#include "runtime/engine/host/plan_stream.hpp"
#include "sdk/src/handles.hpp"

struct tenon_stream {
  tenon::HomeProcess home;
  const tenon_plan* plan = nullptr;
  void (*notice)(void* context, const char* text) = nullptr;
  void* notice_context = nullptr;
  tenon::PlanStream stream;  // ends before what its notices use
};

namespace {

using tenon::OkStatus;
using tenon::Status;
using tenon::StatusCode;
using tenon::sdk::NullArgument;
using tenon::sdk::Overlap;
using tenon::sdk::Report;

constexpr uint64_t kDefaultDeviceTimeout = 10'000'000'000;

tenon::PlanStreamOptions OptionsFrom(const tenon_stream_options& given) {
  tenon::PlanStreamOptions options;
  options.mode = static_cast<tenon::StreamMode>(given.mode);
  options.replicas = given.replicas > 0 ? given.replicas : 1;
  options.queue = given.queue_depth;
  options.results = given.results;
  options.device_timeout =
      given.device_timeout_ns > 0 ? given.device_timeout_ns : kDefaultDeviceTimeout;
  return options;
}

void PassNoticeOn(void* context, const Status& reason) {
  const auto* stream = static_cast<const tenon_stream*>(context);
  tenon_error words;
  reason.Format(tenon::Span<char>(words.message, sizeof words.message));
  stream->notice(stream->notice_context, words.message);
}

Status OpenStream(const tenon_plan* plan, const tenon_stream_options& given, tenon_stream* stream) {
  TENON_ENSURE(static_cast<unsigned>(given.mode) <= TENON_STREAM_INTER_INTRA, kInvalidArgument,
               "there is no stream mode {0}", static_cast<int64_t>(given.mode));
  tenon::PlanStreamOptions options = OptionsFrom(given);
  stream->plan = plan;
  stream->notice = given.notice;
  stream->notice_context = given.notice_context;
  if (given.notice != nullptr) options.notice = {PassNoticeOn, stream};
  if (given.trace != nullptr) {
    const tenon_trace& trace = *given.trace;
    TENON_ENSURE(trace.record != nullptr && trace.clock_nanoseconds != nullptr, kInvalidArgument,
                 "a trace needs both of its functions");
    options.timer = {trace.record, trace.context, trace.clock_nanoseconds};
  }
  return stream->stream.Open(plan->loaded, options);
}

Status CheckAddress(const tenon::ProgramView& program, const tenon::PortInfo& port,
                    const void* address) {
  const auto element = static_cast<uintptr_t>(DTypeBytes(program.tensor(port.tensor).dtype));
  if (address == nullptr) {
    return Status(StatusCode::kInvalidArgument, "the address for '{s}' is NULL").About(port.name);
  }
  if (reinterpret_cast<uintptr_t>(address) % element != 0) {
    return Status(StatusCode::kInvalidArgument, "memory for '{s}' must be aligned to {0} bytes",
                  static_cast<int64_t>(element))
        .About(port.name);
  }
  return OkStatus();
}

/// What one submit uses of a port's memory, or a batch of `rows` rows (0: no batch).
size_t BytesOf(const tenon::ProgramView& program, const tenon::PortInfo& port, size_t rows) {
  const tenon::TensorInfo tensor = program.tensor(port.tensor);
  const auto bytes = static_cast<size_t>(program.storage(tensor.storage).bytes);
  if (rows == 0 || tensor.dims.size() == 0 || tensor.dims[0] < 1) return bytes;
  const size_t row = bytes / static_cast<size_t>(tensor.dims[0]);
  return row != 0 && rows > SIZE_MAX / row ? SIZE_MAX : rows * row;
}

/// That no output lies over an input, which stages read when others write already, or over another
/// output.
Status CheckApart(const tenon::ProgramView& program, const void* const* inputs,
                  void* const* outputs, size_t rows) {
  for (size_t i = 0; i < program.output_count(); ++i) {
    const tenon_memory output = {outputs[i], BytesOf(program, program.output(i), rows)};
    bool overlaps = false;
    for (size_t k = 0; k < program.input_count(); ++k) {
      overlaps |=
          Overlap(output, {const_cast<void*>(inputs[k]), BytesOf(program, program.input(k), rows)});
    }
    for (size_t k = 0; k < i; ++k) {
      overlaps |= Overlap(output, {outputs[k], BytesOf(program, program.output(k), rows)});
    }
    if (overlaps) {
      return Status(StatusCode::kInvalidArgument,
                    "memory for the output '{s}' overlaps that of another port")
          .About(program.output(i).name);
    }
  }
  return OkStatus();
}

Status CheckAddresses(const tenon::ProgramView& program, const void* const* inputs,
                      void* const* outputs, size_t rows) {
  if (inputs == nullptr && program.input_count() > 0) return NullArgument("inputs");
  if (outputs == nullptr && program.output_count() > 0) return NullArgument("outputs");
  for (size_t i = 0; i < program.input_count(); ++i) {
    TENON_RETURN_IF_ERROR(CheckAddress(program, program.input(i), inputs[i]));
  }
  for (size_t i = 0; i < program.output_count(); ++i) {
    TENON_RETURN_IF_ERROR(CheckAddress(program, program.output(i), outputs[i]));
  }
  return CheckApart(program, inputs, outputs, rows);
}

/// That the stream is there, and its threads too.
Status CheckStream(const tenon_stream* stream) {
  if (stream == nullptr) return NullArgument("stream");
  TENON_ENSURE(stream->home.IsHere(), kFailedPrecondition,
               "the stream's threads are in the process that this one was forked from: open a plan "
               "and a stream here");
  return OkStatus();
}

/// The outcome in the words and codes of the C interface. A deadline that a device missed is no
/// deadline of the waiter's, and what an op refuses (an index out of range) is no wrong ticket.
tenon_status ReportOutcome(const tenon::StreamOutcome& outcome, tenon_error* error) {
  if (error != nullptr) {
    static_assert(sizeof outcome.text <= sizeof error->message);
    std::memcpy(error->message, outcome.text, sizeof outcome.text);
  }
  if (outcome.code == StatusCode::kDeadlineExceeded) return TENON_BACKEND_FAILURE;
  if (outcome.code == StatusCode::kInvalidArgument) return TENON_FAILED_PRECONDITION;
  return static_cast<tenon_status>(outcome.code);
}

}  // namespace

extern "C" {

tenon_status tenon_stream_open(const tenon_plan* plan, const tenon_stream_options* options,
                               tenon_stream** stream, tenon_error* error) {
  const Status loaded = tenon::sdk::CheckLoaded(plan);
  if (!loaded.ok()) return Report(loaded, error);
  if (stream == nullptr) return Report(NullArgument("stream"), error);
  *stream = nullptr;
  auto* made = new (std::nothrow) tenon_stream();
  if (made == nullptr) {
    return Report(Status(StatusCode::kOutOfMemory, "no memory for a stream"), error);
  }
  const tenon_stream_options defaults{};
  const Status status = OpenStream(plan, options != nullptr ? *options : defaults, made);
  const tenon_status code = Report(status, error);  // its words may live in the stream
  if (status.ok()) {
    *stream = made;
  } else {
    delete made;
  }
  return code;
}

void tenon_stream_close(tenon_stream* stream) {
  if (stream == nullptr) return;
  // Nothing that a forked process has of it can be ended, or freed under what would use it.
  if (!stream->home.IsHere()) return;
  stream->stream.Close();
  delete stream;
}

tenon_status tenon_stream_submit(tenon_stream* stream, const void* const* inputs,
                                 void* const* outputs, uint64_t timeout_ns, uint64_t* ticket,
                                 tenon_error* error) {
  Status status = CheckStream(stream);
  if (status.ok() && ticket == nullptr) status = NullArgument("ticket");
  if (status.ok()) {
    status = CheckAddresses(stream->plan->loaded.program(), inputs, outputs, /*rows=*/0);
  }
  if (!status.ok()) return Report(status, error);
  return Report(
      stream->stream.stream().Submit(inputs, outputs, tenon::DeadlineAfter(timeout_ns), ticket),
      error);
}

tenon_status tenon_stream_wait(tenon_stream* stream, uint64_t ticket, uint64_t timeout_ns,
                               tenon_error* error) {
  Status status = CheckStream(stream);
  tenon::StreamOutcome outcome;
  if (status.ok()) {
    status = stream->stream.stream().Wait(ticket, tenon::DeadlineAfter(timeout_ns), &outcome);
  }
  return status.ok() ? ReportOutcome(outcome, error) : Report(status, error);
}

tenon_status tenon_stream_reset(tenon_stream* stream, tenon_error* error) {
  Status status = CheckStream(stream);
  if (status.ok()) status = stream->stream.ResetStates();
  return Report(status, error);
}

tenon_status tenon_stream_run_batch(tenon_stream* stream, size_t rows, const void* const* inputs,
                                    void* const* outputs, tenon_error* error) {
  Status status = CheckStream(stream);
  if (status.ok()) {
    status = CheckAddresses(stream->plan->loaded.program(), inputs, outputs, rows);
  }
  tenon::StreamOutcome outcome;
  if (status.ok()) status = stream->stream.batch().Run(rows, inputs, outputs, &outcome);
  return status.ok() ? ReportOutcome(outcome, error) : Report(status, error);
}

tenon_status tenon_stream_get_stats(const tenon_stream* stream, tenon_stream_stats* stats) {
  if (stream == nullptr || stats == nullptr) return TENON_INVALID_ARGUMENT;
  if (!stream->home.IsHere()) return TENON_FAILED_PRECONDITION;
  const tenon::PlanStream& from = stream->stream;
  const tenon::StreamFigures figures = from.stream().Figures();
  *stats = tenon_stream_stats{};
  stats->replicas = from.replicas();
  stats->stages = from.stages();
  stats->channels = from.channels();
  stats->threads = from.threads();
  stats->in_flight_limit = from.stream().in_flight_limit();
  stats->arena_bytes = from.ArenaBytes();
  stats->other_bytes = sizeof *stream - sizeof from + from.OtherBytes();
  stats->submitted = figures.submitted;
  stats->completed = figures.completed;
  stats->failed = figures.failed;
  stats->most_in_flight = figures.most_in_flight;
  stats->submit_stalls = figures.submit_stalls;
  return TENON_OK;
}

tenon_status tenon_stream_get_stage_stats(const tenon_stream* stream, size_t replica, size_t stage,
                                          tenon_stage_stats* stats) {
  if (stream == nullptr || stats == nullptr || replica >= stream->stream.replicas() ||
      stage >= stream->stream.stages()) {
    return TENON_INVALID_ARGUMENT;
  }
  if (!stream->home.IsHere()) return TENON_FAILED_PRECONDITION;
  const tenon::StageFigures figures = stream->stream.stream().FiguresOfStage(replica, stage);
  *stats = tenon_stage_stats{};
  // What runs everything has no worker's name.
  stats->name =
      stream->stream.stages() > 1 ? stream->plan->loaded.program().worker_name(stage) : "";
  stats->inputs = figures.inputs;
  stats->failed = figures.failed;
  stats->busy_ns = figures.busy;
  stats->starved_ns = figures.starved;
  stats->blocked_ns = figures.blocked;
  return TENON_OK;
}

tenon_status tenon_stream_get_channel_stats(const tenon_stream* stream, size_t channel,
                                            tenon_channel_stats* stats) {
  if (stream == nullptr || stats == nullptr || channel >= stream->stream.channels()) {
    return TENON_INVALID_ARGUMENT;
  }
  if (!stream->home.IsHere()) return TENON_FAILED_PRECONDITION;
  const tenon::ProgramView& program = stream->plan->loaded.program();
  const tenon::ChannelInfo info = program.channel(channel);
  const tenon::ChannelFigures figures = stream->stream.stream().FiguresOfChannel(channel);
  *stats = tenon_channel_stats{};
  stats->from = program.segment(info.from).stage;
  stats->to = program.segment(info.to).stage;
  stats->depth = info.depth;
  stats->stalls = figures.stalls;
  stats->stalled_ns = figures.stalled;
  return TENON_OK;
}

}  // extern "C"
