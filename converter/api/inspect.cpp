// Implements the public interface for boards and plans (tenon/inspect.hpp).
#include "tenon/inspect.hpp"

#include "converter/api/outcome.hpp"
#include "converter/board/board.hpp"
#include "converter/driver/kernel_list.hpp"
#include "converter/emit/decisions_record.hpp"
#include "converter/import/operator_list.hpp"
#include "converter/json_text.hpp"
#include "converter/report/inspect_plan.hpp"
#include "converter/solve/place/place_csv.hpp"

namespace tenon {
namespace {

converter::Result<PlacedBuffers> Place(const PlaceRequest& request) {
  TENON_ASSIGN_OR_RETURN(const converter::BufferTable table,
                         converter::ParseBufferCsv(request.csv));
  converter::PlaceOptions options;
  options.limit = request.limit;
  // The budget takes about half a minute if no time limit is given: placement alone may take long.
  options.work_budget = request.time_limit_seconds ? int64_t{1} << 40 : 100'000'000;
  options.time_limit_seconds = request.time_limit_seconds;
  const converter::Placement placement = converter::PlaceBuffers(table.buffers, options);
  if (placement.peak == INT64_MAX) {
    return converter::InputError("the buffers take 2^63 bytes or more");
  }
  PlacedBuffers placed;
  placed.buffers = table.buffers.size();
  placed.peak = placement.peak;
  placed.lower_bound = placement.lower_bound;
  placed.proven_optimal = placement.proven_optimal;
  placed.work = placement.work;
  placed.stopped_by_clock = placement.stopped_by_clock;
  placed.csv = converter::FormatPlacementCsv(table, placement.offsets);
  return placed;
}

}  // namespace

inline namespace api_v1 {

Outcome<PlanInspection> InspectPlan(const std::vector<uint8_t>& plan) {
  return converter::ToOutcome<PlanInspection>([&]() -> converter::Result<PlanInspection> {
    TENON_ASSIGN_OR_RETURN(const auto inspection, converter::InspectPlan(plan));
    // A plan's names are bytes: what is no UTF-8 in them is shown as such.
    return PlanInspection{JsonText(inspection) + "\n", converter::DescribeInspection(inspection)};
  });
}

Outcome<std::vector<uint8_t>> RecordDecisions(std::vector<uint8_t> plan,
                                              const std::string& decisions_json) {
  return converter::ToOutcome<std::vector<uint8_t>>(
      [&]() -> converter::Result<std::vector<uint8_t>> {
        TENON_RETURN_IF_ERROR(converter::AppendDecisions(decisions_json, plan));
        return std::move(plan);
      });
}

std::vector<BoardSummary> BuiltInBoards() {
  std::vector<BoardSummary> boards;
  for (const converter::Board& board : converter::BuiltInBoards()) {
    BoardSummary summary{board.name, board.description, {}, {}};
    for (const converter::Unit& unit : board.units) {
      summary.units.push_back({unit.name, unit.threads});
    }
    for (const converter::MemorySpace& space : board.memory_spaces) {
      summary.memory_spaces.push_back({space.name, space.bytes});
    }
    boards.push_back(std::move(summary));
  }
  return boards;
}

OperatorList ConvertibleOperators() {
  const std::vector<converter::ImportedOperator> operators = converter::ImportedOperators();
  return {converter::OperatorJson(operators), converter::OperatorTable(operators)};
}

OperatorList KernelsOfOps() { return {converter::KernelJson(), converter::KernelTable()}; }

Outcome<PlacedBuffers> PlaceBuffers(const PlaceRequest& request) {
  return converter::ToOutcome<PlacedBuffers>([&] { return Place(request); });
}

}  // namespace api_v1
}  // namespace tenon
