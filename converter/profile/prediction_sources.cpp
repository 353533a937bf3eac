#include "converter/profile/prediction_sources.hpp"

#include "converter/profile/measured_cost_model.hpp"

namespace tenon::converter {

PredictionSources SourcesOf(const Graph& graph, const Locations& locations,
                            const std::vector<OpId>& ops, const Board& board,
                            const Profile& profile) {
  const MeasuredCostModel model(profile, &locations);
  PredictionSources sources;
  double error_times_time = 0;
  for (const OpId id : ops) {
    const Op& op = graph.op(id);
    const Unit* unit = UnitFor(board, op);
    if (unit == nullptr) continue;
    const Picoseconds time = model.TimeOf(graph, op, *unit).Alone(board.PortBytesPerSecond(*unit));
    const MeasuredCostModel::Estimate estimate = model.EstimateOf(graph, op, *unit);
    if (estimate.source == CostSource::kAnalytic) {
      sources.analytic += time;
      continue;
    }
    (estimate.source == CostSource::kMeasured ? sources.measured : sources.calibrated) += time;
    error_times_time += estimate.error * static_cast<double>(time);
  }
  const auto known = static_cast<double>(sources.measured + sources.calibrated);
  if (known > 0) sources.op_error = error_times_time / known;
  return sources;
}

}  // namespace tenon::converter
