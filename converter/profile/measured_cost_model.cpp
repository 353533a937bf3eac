#include "converter/profile/measured_cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "converter/cost/instruction_cost_model.hpp"

namespace tenon::converter {
namespace {

constexpr double kPicosecondsPerMs = 1e9;

}  // namespace

MeasuredCostModel::MeasuredCostModel(const Profile& profile, const Locations* locations)
    : profile_(profile), locations_(locations), analytic_(profile.threads) {
  struct Sum {
    Measured weighted;
    int places = 0;
  };
  std::unordered_map<std::string, Sum> sums;
  for (const ProfileEntry& entry : profile.entries) {
    const std::string key = entry.unit + " " + entry.signature;
    measured_[key] = {entry.durations.mean_ms, entry.durations.spread};
    Sum& sum = sums[WithoutStrides(key)];
    sum.weighted.ms += entry.durations.mean_ms * entry.places;
    sum.weighted.spread += entry.durations.spread * entry.places;
    sum.places += entry.places;
    units_[entry.unit] = true;
  }
  for (const auto& [key, sum] : sums) {
    measured_without_strides_[key] = {sum.weighted.ms / sum.places,
                                      sum.weighted.spread / sum.places};
  }
}

MeasuredCostModel::Estimate MeasuredCostModel::EstimateOf(const Graph& graph, const Op& op,
                                                          const Unit& unit) const {
  if (!units_.contains(unit.name)) return {};
  const ProfileOperands operands(graph, op, locations_);
  const std::string key = unit.name + " " + ProfileSignature(operands, profile_.threads);
  if (const auto found = measured_.find(key); found != measured_.end()) {
    return {CostSource::kMeasured, found->second.ms, found->second.spread};
  }
  // A measured op must not count as unknown just because its layout is not known.
  if (locations_ == nullptr) {
    const auto found = measured_without_strides_.find(WithoutStrides(key));
    if (found != measured_without_strides_.end()) {
      return {CostSource::kMeasured, found->second.ms, found->second.spread};
    }
  }
  const CostTerms terms = KernelTerms(operands, profile_.machine, profile_.threads);
  const auto predicted = profile_.calibration.Predict(
      InNetwork(terms, BytesOf(graph), profile_.machine), KindTerms(operands, profile_.machine));
  if (!predicted.has_value()) return {};
  return {CostSource::kCalibrated, predicted->ms, predicted->error};
}

double MeasuredCostModel::BytesOf(const Graph& graph) const {
  const std::lock_guard<std::mutex> lock(network_mutex_);
  if (network_ == &graph) return network_bytes_;
  NetworkBytes bytes;
  for (const OpId id : graph.OpOrder()) {
    bytes.Add(ProfileOperands(graph, graph.op(id), locations_));
  }
  network_ = &graph;
  network_bytes_ = bytes.Sum();
  return network_bytes_;
}

OpTime MeasuredCostModel::TimeOf(const Graph& graph, const Op& op, const Unit& unit) const {
  const Estimate estimate = EstimateOf(graph, op, unit);
  if (estimate.source == CostSource::kAnalytic) return analytic_.TimeOf(graph, op, unit);
  OpTime time;
  time.compute = static_cast<Picoseconds>(std::llround(estimate.ms * kPicosecondsPerMs));
  time.measured = true;
  return time;
}

Status CheckProfileFits(const Profile& profile, const Board& board) {
  if (profile.board == board.name) return {};
  return UsageError("the profile was made for the board '{}', not for '{}'", profile.board,
                    board.name);
}

std::unique_ptr<CostModel> MakeCostModel(const Board& board, const Profile* profile,
                                         const Locations* locations) {
  if (profile == nullptr || !CheckProfileFits(*profile, board).ok()) {
    if (locations != nullptr && HasInstructionTables(board)) {
      return std::make_unique<InstructionCostModel>(board, *locations);
    }
    return std::make_unique<AnalyticCostModel>(board, 1, locations);
  }
  return std::make_unique<MeasuredCostModel>(*profile, locations);
}

}  // namespace tenon::converter
