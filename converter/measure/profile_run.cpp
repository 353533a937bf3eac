#include "converter/measure/profile_run.hpp"

#include <algorithm>

#include "converter/map/priority_table.hpp"
#include "converter/profile/device_waits.hpp"

namespace tenon::converter {
namespace {

std::string BackendOf(const std::string& kernel) { return kernel.substr(0, kernel.find('.')); }

/// Returns, by op of the program, how long it took.
std::vector<TimedOp> TimesOf(const PlanView& view, const ProgramView& program, double latency_ms,
                             RunSamples& samples) {
  std::vector<TimedOp> ops(std::min(program.op_count(), samples.wall.size()));
  for (size_t i = 0; i < ops.size(); ++i) {
    if (samples.wall[i].empty()) continue;
    ops[i].durations = samples.OfOp(i);
    ops[i].on_device = BackendOf(ProfileOperands(view, program, i).kernel()) != "cpu";
  }
  RemoveWaits(latency_ms, ops);
  return ops;
}

/// Adds what the plan's ops are and how long they took.
Status AddSteps(const PlanToProfile& subject, const Board& board, RunSamples& samples,
                Profile& profile, std::vector<MeasuredOp>& measured) {
  TENON_ASSIGN_OR_RETURN(const OpenedPlan tables, OpenedPlan::Open(subject));
  const PlanView& view = tables.view();
  const ProgramView program = view.program(0);
  ProfiledModel model;
  model.name = subject.name;
  model.sweep = subject.sweep;
  model.latency = samples.Latency();
  NetworkBytes bytes;
  const std::vector<TimedOp> times = TimesOf(view, program, model.latency.mean_ms, samples);
  for (size_t i = 0; i < times.size(); ++i) {
    if (samples.wall[i].empty()) continue;
    const ProfileOperands operands(view, program, i);
    bytes.Add(operands);
    ProfileEntry entry;
    entry.signature = ProfileSignature(operands, profile.threads);
    entry.unit = UnitNameOf(board, operands);
    entry.kernel = operands.kernel();
    entry.durations = times[i].durations;
    entry.kernel_terms = KernelTerms(operands, profile.machine, profile.threads);
    entry.kind_terms = KindTerms(operands, profile.machine);
    const double mean_ms = entry.durations.mean_ms;
    measured.push_back({FactsOf(operands.kind(), operands.call()),
                        WithoutKernel(WithoutStrides(entry.signature)), BackendOf(entry.kernel),
                        mean_ms});
    model.steps.push_back({profile.AddOp(std::move(entry)), mean_ms});
  }
  model.network_bytes = bytes.Sum();
  profile.models.push_back(std::move(model));
  return {};
}

}  // namespace

Result<Profile> MakeProfile(const Board& board, const std::vector<PlanToProfile>& plans,
                            const ProfileOptions& options) {
  Profile profile;
  profile.board = board.name;
  profile.threads = options.threads;
  profile.tuning = options.tuning;
  profile.machine = ThisMachine();
  TENON_ASSIGN_OR_RETURN(std::vector<RunSamples> samples, RunInTurns(plans, options));
  std::vector<MeasuredOp> measured;
  for (size_t i = 0; i < plans.size(); ++i) {
    TENON_RETURN_IF_ERROR(AddSteps(plans[i], board, samples[i], profile, measured));
  }
  profile.calibration = Calibrate(CalibrationSamples(profile, {}, true));
  if (options.priority_table) profile.priorities = RankBackends(measured);
  return profile;
}

}  // namespace tenon::converter
