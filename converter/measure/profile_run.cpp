#include "converter/measure/profile_run.hpp"

#include <algorithm>

#include "converter/map/priority_table.hpp"

namespace tenon::converter {
namespace {

/// Adds what the plan's ops are and how long they took.
Status AddSteps(const PlanToProfile& subject, const Board& board, RunSamples& samples,
                Profile& profile, std::vector<MeasuredOp>& measured) {
  TENON_ASSIGN_OR_RETURN(const PlanTables tables, PlanTables::Open(subject));
  const PlanView& view = tables.view();
  const ProgramView program = view.program(0);
  ProfiledModel model;
  model.name = subject.name;
  model.sweep = subject.sweep;
  model.latency = samples.Latency();
  double largest = 0;
  for (size_t i = 0; i < program.op_count() && i < samples.wall.size(); ++i) {
    if (samples.wall[i].empty()) continue;
    const ProfileOperands operands(view, program, i);
    model.network_bytes += ConstantBytes(operands);
    largest = std::max(largest, ActivationBytes(operands));
    ProfileEntry entry;
    entry.signature = ProfileSignature(operands, profile.threads);
    entry.unit = UnitNameOf(board, operands);
    entry.kernel = operands.kernel();
    entry.durations = samples.OfOp(i);
    entry.kernel_terms = KernelTerms(operands, profile.machine, profile.threads);
    entry.kind_terms = KindTerms(operands, profile.machine);
    const double mean_ms = entry.durations.mean_ms;
    measured.push_back({FactsOf(operands.kind(), operands.call()),
                        WithoutKernel(WithoutStrides(entry.signature)),
                        entry.kernel.substr(0, entry.kernel.find('.')), mean_ms});
    model.steps.push_back({profile.AddOp(std::move(entry)), mean_ms});
  }
  model.network_bytes += largest;
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
