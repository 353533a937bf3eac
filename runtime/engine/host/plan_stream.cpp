#include "runtime/engine/host/plan_stream.hpp"

#include <new>

#include "runtime/engine/host/clock.hpp"

namespace tenon {
namespace {

/// More replicas than this are taken for a mistake.
constexpr size_t kMostReplicas = 1024;

Status CheckMode(const ProgramView& program, StreamMode mode) {
  const bool is_pipeline = program.mode() == static_cast<uint8_t>(ProgramMode::kPipeline);
  if (mode == StreamMode::kPipeline && !is_pipeline) {
    return Status(StatusCode::kFailedPrecondition,
                  "program '{s}' is no pipeline: convert with --parallel=pipeline and open the "
                  "plan's program of that mode")
        .About(program.name());
  }
  const bool by_worker = mode == StreamMode::kInter || mode == StreamMode::kInterIntra;
  if (by_worker && is_pipeline) {
    return Status(StatusCode::kFailedPrecondition,
                  "program '{s}' is a pipeline: its stages have no waits to run one input by")
        .About(program.name());
  }
  if (by_worker && program.worker_count() < 2) {
    return Status(StatusCode::kFailedPrecondition,
                  "program '{s}' has one worker, so nothing can run beside it: convert with "
                  "--parallel=inter")
        .About(program.name());
  }
  return OkStatus();
}

Status OpenLane(const LoadedPlan& plan, StreamMode mode, bool is_first,
                std::unique_ptr<Lane>* lane) {
  if (mode == StreamMode::kPipeline) return OpenPipelineLane(plan, is_first, lane);
  if (mode == StreamMode::kInter) return OpenTeamLane(plan, is_first, /*idle_help=*/false, lane);
  if (mode == StreamMode::kInterIntra)
    return OpenTeamLane(plan, is_first, /*idle_help=*/true, lane);
  return OpenSequentialLane(plan, is_first, lane);
}

}  // namespace

Status PlanStream::Open(const LoadedPlan& plan, const PlanStreamOptions& options) {
  TENON_ENSURE(options.replicas >= 1 && options.replicas <= kMostReplicas, kInvalidArgument,
               "{0} replicas asked for: give 1 to {1}", static_cast<int64_t>(options.replicas),
               static_cast<int64_t>(kMostReplicas));
  const ProgramView& program = plan.program();
  TENON_RETURN_IF_ERROR(CheckMode(program, options.mode));
  TENON_ENSURE(options.replicas == 1 || program.state_count() == 0, kFailedPrecondition,
               "{0} replicas asked for, but the program keeps state from input to input: one takes "
               "them all, in order",
               static_cast<int64_t>(options.replicas));
  device_timeout_ = options.device_timeout;
  timer_ = options.timer;
  TENON_RETURN_IF_ERROR(OpenLanes(plan, options));
  StreamShape shape;
  shape.lanes = lane_count_;
  shape.stages = stages();
  if (options.mode == StreamMode::kPipeline) {
    TENON_RETURN_IF_ERROR(MakeEdges(program));
    channel_count_ = program.channel_count();
  }
  shape.channels = channel_count_;
  shape.edges = {edges_.get(), edge_count_};
  shape.inputs = program.input_count();
  shape.outputs = program.output_count();
  shape.queue = options.queue;
  shape.results = options.results;
  TENON_RETURN_IF_ERROR(stream_.Open(shape, this));
  return batch_.Open(plan, &stream_);
}

Status PlanStream::OpenLanes(const LoadedPlan& plan, const PlanStreamOptions& options) {
  lanes_.reset(new (std::nothrow) std::unique_ptr<Lane>[options.replicas]());
  TENON_ENSURE(lanes_ != nullptr, kOutOfMemory, "no memory for {0} replicas",
               static_cast<int64_t>(options.replicas));
  for (; lane_count_ < options.replicas; ++lane_count_) {
    TENON_RETURN_IF_ERROR(OpenLane(plan, options.mode, lane_count_ == 0, &lanes_[lane_count_]));
    lanes_[lane_count_]->SetNoticeSink(options.notice);
  }
  return OkStatus();
}

/// Every stage after the writer's, up to the last that reads, takes part in a channel: a slot is
/// free once all of them are done with it.
Status PlanStream::MakeEdges(const ProgramView& program) {
  const auto stage_of = [&](uint16_t segment) { return program.segment(segment).stage; };
  size_t count = 0;
  for (size_t i = 0; i < program.channel_count(); ++i) {
    const ChannelInfo channel = program.channel(i);
    count += static_cast<size_t>(stage_of(channel.to) - stage_of(channel.from));
  }
  edges_.reset(new (std::nothrow) StreamEdge[count]());
  TENON_ENSURE(edges_ != nullptr, kOutOfMemory, "no memory for {0} rings",
               static_cast<int64_t>(count));
  for (size_t i = 0; i < program.channel_count(); ++i) {
    const ChannelInfo channel = program.channel(i);
    const uint16_t from = stage_of(channel.from);
    for (auto to = static_cast<uint16_t>(from + 1); to <= stage_of(channel.to); ++to) {
      edges_[edge_count_++] = {from, to, channel.depth, static_cast<uint16_t>(i)};
    }
  }
  return OkStatus();
}

Status PlanStream::ResetStates() {
  const StreamFigures figures = stream_.Figures();
  TENON_ENSURE(figures.submitted == figures.completed, kFailedPrecondition,
               "{0} inputs are under way: wait for them before state is reset",
               static_cast<int64_t>(figures.submitted - figures.completed));
  for (size_t i = 0; i < lane_count_; ++i) lanes_[i]->ResetStates();
  return OkStatus();
}

void PlanStream::Close() {
  stream_.Close();
  lanes_.reset();
  lane_count_ = 0;
}

Status PlanStream::Run(size_t lane, size_t stage, uint64_t number, const StreamRequest& request) {
  RunOptions options;
  options.deadline = DeadlineAfter(device_timeout_);
  if (timer_.record != nullptr) options.timer = &timer_;
  return lanes_[lane]->Run(stage, number, request, options);
}

size_t PlanStream::threads() const {
  size_t threads = lane_count_ * stages();
  for (size_t i = 0; i < lane_count_; ++i) threads += lanes_[i]->extra_threads();
  return threads;
}

size_t PlanStream::ArenaBytes() const {
  size_t bytes = 0;
  for (size_t i = 0; i < lane_count_; ++i) bytes += lanes_[i]->ArenaBytes();
  return bytes;
}

size_t PlanStream::OtherBytes() const {
  size_t bytes =
      sizeof *this + edge_count_ * sizeof(StreamEdge) + stream_.HeldBytes() + batch_.HeldBytes();
  for (size_t i = 0; i < lane_count_; ++i) bytes += lanes_[i]->OtherBytes();
  return bytes;
}

}  // namespace tenon
