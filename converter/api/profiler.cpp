// Implements the public interface for profiling (tenon/profiler.hpp).
#include "tenon/profiler.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "converter/api/outcome.hpp"
#include "converter/api/preferred_backend.hpp"
#include "converter/driver/pipeline.hpp"
#include "converter/measure/profile_run.hpp"
#include "converter/measure/profile_sweep.hpp"
#include "converter/measure/this_machine.hpp"
#include "converter/measure/tune.hpp"

namespace tenon::converter {
namespace {

/// Returns the folder and name of a model: "squeezenet1.1/model_fp32".
std::string NameOf(const std::string& model) {
  const std::filesystem::path path = std::filesystem::weakly_canonical(model);
  return (path.parent_path().filename() / path.stem()).string();
}

/// The variants that kernels run with. Null: kernels choose them.
using Variants = std::shared_ptr<const VariantChoice>;

Result<Conversion> ConvertModel(ConvertOptions convert, int64_t batch) {
  Result<Conversion> conversion = Convert(convert);
  if (conversion.ok()) return conversion;
  // A free first dimension needs a value; elsewhere a value is refused.
  convert.import.batch = batch;
  Result<Conversion> batched = Convert(convert);
  return batched.ok() ? std::move(batched) : std::move(conversion);
}

Status AddModels(const Board& board, const ProfileRequest& request, const Variants& variants,
                 std::vector<PlanToProfile>& plans) {
  for (const std::string& model : request.models) {
    ConvertOptions convert;
    convert.board = board;
    convert.model = model;
    convert.variants = variants;
    TENON_ASSIGN_OR_RETURN(Conversion conversion, ConvertModel(std::move(convert), request.batch));
    plans.push_back({NameOf(model), false, std::move(conversion.plan)});
  }
  return {};
}

/// Adds the networks that fit the board, and skips the others.
Status AddSweep(const Board& board, const Variants& variants, std::vector<PlanToProfile>& plans) {
  ConvertOptions convert;
  convert.board = board;
  convert.compile.order.mode = OrderMode::kSource;
  convert.variants = variants;
  for (const SweepNetwork& network : SweepNetworks()) {
    Result<Conversion> conversion = ConvertGraph(network.graph, convert);
    if (conversion.ok()) {
      plans.push_back({network.name, true, std::move(conversion->plan)});
    } else if (conversion.error().kind != ErrorKind::kDoesNotFit) {
      return conversion.error();
    }
  }
  return {};
}

std::function<void(const std::string&, int, int)> Progress(const ProfileRequest& request,
                                                           const char* phase) {
  if (!request.progress) return {};
  return [&request, phase](const std::string& network, int index, int count) {
    request.progress(phase, network, index, count);
  };
}

bool BackendHasVariants(const std::string& backend) {
  const std::vector<BackendCaps> known = BuiltInBackends();
  const Span<const KernelCaps> kernels = FindBackend(known, backend)->kernels;
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const KernelCaps& caps) { return caps.variants != nullptr; });
}

/// Returns the fastest variants for the models' ops: those that are faster than the default, and
/// still are when both are measured again.
Result<Variants> TuneModels(const Board& board, const ProfileRequest& request, Tuning& winners) {
  std::vector<PlanToProfile> plans;
  TENON_RETURN_IF_ERROR(AddModels(board, request, std::make_shared<Tuning>(), plans));
  const std::vector<PlanToProfile> defaults = plans;
  for (size_t place = 0;; ++place) {
    std::vector<PlanToProfile> varied;
    TENON_RETURN_IF_ERROR(AddModels(board, request, std::make_shared<VariantAt>(place), varied));
    if (std::none_of(varied.begin(), varied.end(), HasVariants)) break;
    std::move(varied.begin(), varied.end(), std::back_inserter(plans));
  }
  TuneOptions tune;
  tune.threads = request.threads;
  tune.iterations = 6;
  tune.progress = Progress(request, "tuning");
  TENON_ASSIGN_OR_RETURN(Tuning fastest, Tune(board, plans, tune));
  if (fastest.rows().empty()) return Variants();
  plans = defaults;
  TENON_RETURN_IF_ERROR(
      AddModels(board, request, std::make_shared<Tuning>(std::move(fastest)), plans));
  tune.iterations = 15;
  tune.rounds = 5;
  tune.progress = Progress(request, "checking variants");
  TENON_ASSIGN_OR_RETURN(Tuning confirmed, Tune(board, plans, tune));
  for (const TunedOp& row : confirmed.rows()) winners.Add(row);
  return Variants(std::make_shared<Tuning>(std::move(confirmed)));
}

/// Makes the plans to measure, with the variants that won.
Status PlansToMeasure(const Board& board, const ProfileRequest& request, Tuning& winners,
                      std::vector<PlanToProfile>& plans) {
  const std::vector<std::string> backends = BackendsToMeasure(board);
  if (request.priority_table && backends.size() < 2) {
    return UsageError(
        "--priority-table ranks backends: board '{}' has but one that this build knows",
        board.name);
  }
  for (const std::string& backend : backends) {
    const size_t first = plans.size();
    const Board preferring = Preferring(board, backend);
    Variants variants;
    if (request.tuning && !request.models.empty() && BackendHasVariants(backend)) {
      TENON_ASSIGN_OR_RETURN(variants, TuneModels(preferring, request, winners));
    }
    TENON_RETURN_IF_ERROR(AddModels(preferring, request, variants, plans));
    if (request.sweep) TENON_RETURN_IF_ERROR(AddSweep(preferring, variants, plans));
    if (backends.size() == 1) break;
    for (size_t i = first; i < plans.size(); ++i) plans[i].name += " on " + backend;
  }
  if (plans.empty()) return UsageError("nothing to measure: give --model MODEL, or --sweep on");
  return {};
}

MeasuredProfile Measured(const Profile& profile) {
  MeasuredProfile measured;
  measured.json = FormatProfile(profile);
  measured.ops = profile.entries.size();
  measured.networks = profile.models.size();
  measured.threads = profile.threads;
  measured.processor = profile.machine.processor;
  measured.tuned_ops = profile.tuning.rows().size();
  for (const ProfileEntry& entry : profile.entries) measured.spread += entry.durations.spread;
  measured.spread /= std::max(1.0, static_cast<double>(profile.entries.size()));
  double samples = 0;
  for (const auto& [name, model] : profile.calibration.models) {
    if (!name.starts_with("cpu.")) continue;  // the coarse models of kinds
    measured.model_error += model.error * static_cast<double>(model.samples);
    samples += static_cast<double>(model.samples);
  }
  measured.model_error /= std::max(samples, 1.0);
  return measured;
}

Result<MeasuredProfile> MeasureProfile(const ProfileRequest& request) {
  TENON_ASSIGN_OR_RETURN(const Board board, LoadBoard(request.board));
  TENON_RETURN_IF_ERROR(CheckIsThisMachine(board));
  ProfileOptions options;
  std::vector<PlanToProfile> plans;
  TENON_RETURN_IF_ERROR(PlansToMeasure(board, request, options.tuning, plans));
  options.threads = request.threads;
  options.iterations = request.iterations;
  options.priority_table = request.priority_table;
  options.progress = Progress(request, "measuring");
  TENON_ASSIGN_OR_RETURN(const Profile profile, MakeProfile(board, plans, options));
  return Measured(profile);
}

}  // namespace
}  // namespace tenon::converter

namespace tenon {
inline namespace api_v1 {

Outcome<MeasuredProfile> MakeProfile(const ProfileRequest& request) {
  return converter::ToOutcome<MeasuredProfile>([&] { return converter::MeasureProfile(request); });
}

}  // namespace api_v1
}  // namespace tenon
