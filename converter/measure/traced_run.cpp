#include "converter/measure/traced_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <random>
#include <string_view>
#include <utility>

#include "converter/cost/cost_model.hpp"
#include "tenon/tenon.hpp"

namespace tenon::converter {
namespace {

uint64_t Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

/// Returns the time that this thread was running: on a busy machine, ops that take longer than a
/// time slice are interrupted in every run. Reading it is a system call, which is too slow for
/// small ops.
uint64_t RunningNanoseconds() { return Read(CLOCK_THREAD_CPUTIME_ID); }
uint64_t WallNanoseconds() { return Read(CLOCK_MONOTONIC); }

using Clock = uint64_t (*)();

/// Returns what reading the clock adds to the time between two readings: the median of many.
double CostOf(Clock clock) {
  std::vector<uint64_t> gaps(1001);
  for (uint64_t& gap : gaps) {
    const uint64_t start = clock();
    gap = clock() - start;
  }
  std::nth_element(gaps.begin(), gaps.begin() + 500, gaps.end());
  return static_cast<double>(gaps[500]);
}

/// Owns a plan file that exists as long as this object lives.
class TemporaryFile {
 public:
  static Result<TemporaryFile> Write(const std::vector<uint8_t>& bytes) {
    std::error_code code;
    std::string path = std::filesystem::temp_directory_path(code) / "tenon-profile-XXXXXX";
    const int file = code ? -1 : mkstemp(path.data());
    if (file < 0) return Failed(path);
    TemporaryFile made(path);
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t written = write(file, bytes.data() + done, bytes.size() - done);
      if (written <= 0) break;
      done += static_cast<size_t>(written);
    }
    if (close(file) != 0 || done < bytes.size()) return Failed(path);
    return made;
  }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  static Error Failed(const std::string& path) {
    return Error{ErrorKind::kBackend, fmt::format("{}: cannot be written", path), {}};
  }
  std::string path_;
};

/// Inputs are aligned as arenas are: in a model an op reads most of its operands there, and vectors
/// that cross cache lines take twice as long.
struct alignas(64) CacheLine {
  std::byte bytes[64];
};

/// Returns numbers of ordinary size: zeros or denormals would measure something else. Integers are
/// 0, which is in range as an index of anything.
std::vector<CacheLine> RandomInput(const tenon_port_info& port) {
  std::vector<CacheLine> lines(port.bytes / sizeof(CacheLine) + 1);
  if (port.dtype != TENON_F32) return lines;
  std::minstd_rand random(1);
  for (size_t i = 0; i + 4 <= port.bytes; i += 4) {
    const float value = static_cast<float>(random()) / static_cast<float>(std::minstd_rand::max());
    std::memcpy(lines[i / sizeof(CacheLine)].bytes + i % sizeof(CacheLine), &value, 4);
  }
  return lines;
}

Error RunFailed(const std::string& name, const tenon::Error& error) {
  return Error{ErrorKind::kBackend, fmt::format("{}: {}", name, error.message), {}};
}

/// Stores one traced run.
struct Trace {
  std::vector<std::vector<double>>* samples;
  Clock clock;
  double clock_cost;
};

tenon_trace TraceWith(Trace& run) {
  tenon_trace trace{};
  trace.context = &run;
  trace.record = [](void* context, size_t op, uint64_t nanoseconds) {
    const auto* running = static_cast<const Trace*>(context);
    const double spent = static_cast<double>(nanoseconds) - running->clock_cost;
    (*running->samples)[op].push_back(std::max(spent, 1.0));
  };
  trace.clock_nanoseconds = [](void* context) {
    return static_cast<const Trace*>(context)->clock();
  };
  return trace;
}

/// Returns false if a device does some of the work: then this thread's time is not the op's.
bool RunsOnThisThread(const tenon::Plan& plan) {
  for (size_t i = 0; i < plan.OpCount(); ++i) {
    if (plan.Op(i).backend != std::string_view("cpu")) return false;
  }
  return true;
}

Status RunPlan(const PlanToProfile& subject, int iterations, int threads, RunSamples& samples) {
  TENON_ASSIGN_OR_RETURN(const TemporaryFile file, TemporaryFile::Write(subject.plan));
  auto plan = tenon::Plan::Open(file.path(), threads);
  if (!plan) return RunFailed(subject.name, plan.error());
  auto session = tenon::Session::Open(*plan);
  if (!session) return RunFailed(subject.name, session.error());
  std::vector<std::vector<CacheLine>> inputs;
  for (size_t i = 0; i < plan->InputCount(); ++i) {
    inputs.push_back(RandomInput(plan->Input(i)));
    if (auto error = session->BindInput(i, inputs[i].data(), plan->Input(i).bytes)) {
      return RunFailed(subject.name, *error);
    }
  }
  samples.wall.resize(plan->OpCount());
  samples.running.resize(plan->OpCount());
  const bool is_one_thread = threads == 1 && RunsOnThisThread(*plan);
  Trace wall_run{&samples.wall, WallNanoseconds, CostOf(WallNanoseconds)};
  Trace running_run{&samples.running, RunningNanoseconds, CostOf(RunningNanoseconds)};
  const tenon_trace wall = TraceWith(wall_run);
  const tenon_trace running = TraceWith(running_run);
  const Clock clock = is_one_thread ? RunningNanoseconds : WallNanoseconds;
  constexpr int kWarmUp = 2;
  for (int i = 0; i < iterations + kWarmUp; ++i) {
    const uint64_t start = clock();
    if (auto error = session->Run()) return RunFailed(subject.name, *error);
    if (i < kWarmUp) continue;
    samples.latency.push_back(static_cast<double>(clock() - start));
    if (auto error = session->RunTraced(wall)) return RunFailed(subject.name, *error);
    if (!is_one_thread) continue;
    if (auto error = session->RunTraced(running)) return RunFailed(subject.name, *error);
  }
  return {};
}

}  // namespace

Durations RunSamples::Latency() { return SummariseRounds(latency, rounds, kNanosecondsPerMs); }

Durations RunSamples::OfOp(size_t op) {
  constexpr double kLongMs = 0.03;
  const Durations durations = SummariseRounds(wall[op], rounds, kNanosecondsPerMs);
  if (durations.mean_ms < kLongMs || running[op].empty()) return durations;
  return SummariseRounds(running[op], rounds, kNanosecondsPerMs);
}

Result<std::vector<RunSamples>> RunInTurns(const std::vector<PlanToProfile>& plans,
                                           const TurnOptions& options) {
  const int rounds = std::clamp(options.rounds, 1, std::max(1, options.iterations));
  std::vector<RunSamples> samples(plans.size());
  for (RunSamples& each : samples) each.rounds = rounds;
  int turn = 0;
  for (int round = 0; round < rounds; ++round) {
    const int iterations =
        options.iterations * (round + 1) / rounds - options.iterations * round / rounds;
    for (size_t i = 0; i < plans.size(); ++i) {
      if (options.progress) {
        options.progress(plans[i].name, turn++, rounds * static_cast<int>(plans.size()));
      }
      TENON_RETURN_IF_ERROR(RunPlan(plans[i], iterations, options.threads, samples[i]));
    }
  }
  return samples;
}

Result<OpenedPlan> OpenedPlan::Open(const PlanToProfile& subject) {
  OpenedPlan tables;
  tables.aligned_.resize(subject.plan.size() / sizeof(std::max_align_t) + 1);
  std::memcpy(tables.aligned_.data(), subject.plan.data(), subject.plan.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(tables.aligned_.data());
  const auto view = PlanView::Open({bytes, subject.plan.size()}, true);
  if (!view.ok()) return InternalError("{}: {}", subject.name, ToString(view.status()));
  tables.view_ = *view;
  return tables;
}

std::string UnitNameOf(const Board& board, const ProfileOperands& operands) {
  Op op;
  op.kind = operands.kind();
  op.backend = operands.kernel().substr(0, operands.kernel().find('.'));
  const Unit* unit = UnitFor(board, op);
  return unit != nullptr ? unit->name : op.backend;
}

}  // namespace tenon::converter
