#include "converter/measure/tune.hpp"

#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/ops/kernel_name.hpp"

namespace tenon::converter {
namespace {

using OpKey = std::tuple<std::string, std::string, std::string>;  // unit, kernel, op
/// Contains the nanoseconds of all runs by variant; "" is the default.
using SamplesOfVariants = std::map<std::string, std::vector<double>>;

Status AddSamples(const PlanToProfile& subject, const Board& board, const RunSamples& samples,
                  std::map<OpKey, SamplesOfVariants>& ops) {
  TENON_ASSIGN_OR_RETURN(const OpenedPlan tables, OpenedPlan::Open(subject));
  const PlanView& view = tables.view();
  const ProgramView program = view.program(0);
  for (size_t i = 0; i < program.op_count() && i < samples.wall.size(); ++i) {
    const ProfileOperands operands(view, program, i);
    const char* variant = VariantIn(view.kernel(program.op(i).kernel));
    const OpKey key(UnitNameOf(board, operands), operands.kernel(), TuningKey(operands));
    std::vector<double>& all = ops[key][variant != nullptr ? variant : ""];
    all.insert(all.end(), samples.wall[i].begin(), samples.wall[i].end());
  }
  return {};
}

/// Returns the row of the fastest variant; it names none where the default is as fast.
TunedOp Fastest(const OpKey& key, SamplesOfVariants& variants, double share) {
  TunedOp row;
  std::tie(row.unit, row.kernel, row.op) = key;
  row.ms = std::numeric_limits<double>::infinity();
  const Durations by_default = Summarise(variants[""], kNanosecondsPerMs);
  row.default_ms = by_default.mean_ms;
  for (auto& [name, samples] : variants) {
    if (name.empty()) continue;
    const Durations durations = Summarise(samples, kNanosecondsPerMs);
    // Noise often gives one of two equal variants the better mean, but seldom the better minimum.
    const bool is_sure = durations.min_ms < by_default.min_ms * share;
    if (durations.mean_ms >= by_default.mean_ms * share || !is_sure) continue;
    if (durations.mean_ms >= row.ms) continue;
    row.ms = durations.mean_ms;
    row.variant = name;
  }
  return row;
}

}  // namespace

Result<Tuning> Tune(const Board& board, const std::vector<PlanToProfile>& plans,
                    const TuneOptions& options) {
  TENON_ASSIGN_OR_RETURN(std::vector<RunSamples> samples, RunInTurns(plans, options));
  std::map<OpKey, SamplesOfVariants> ops;
  for (size_t i = 0; i < plans.size(); ++i) {
    TENON_RETURN_IF_ERROR(AddSamples(plans[i], board, samples[i], ops));
  }
  Tuning tuning;
  for (auto& [key, variants] : ops) {
    TunedOp row = Fastest(key, variants, options.share);
    if (!row.variant.empty()) tuning.Add(std::move(row));
  }
  return tuning;
}

bool HasVariants(const PlanToProfile& plan) {
  const Result<OpenedPlan> tables = OpenedPlan::Open(plan);
  if (!tables.ok()) return false;
  for (size_t i = 0; i < tables->view().kernel_count(); ++i) {
    if (VariantIn(tables->view().kernel(i)) != nullptr) return true;
  }
  return false;
}

}  // namespace tenon::converter
