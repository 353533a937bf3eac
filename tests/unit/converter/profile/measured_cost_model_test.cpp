#include "converter/profile/measured_cost_model.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <utility>

#include "converter/ir/text.hpp"
#include "converter/profile/prediction_sources.hpp"

namespace tenon::converter {
namespace {

constexpr std::string_view kGraph = R"(graph g
input %x: f32[98,64]
%a = unary(%x) {function=exp} @cpu/cpu.unary.portable
%b = unary(%a) {function=tanh} @cpu/cpu.unary.portable
%y = softmax(%b) {axis=1} @cpu/cpu.softmax.portable
output %y
)";

struct Subject {
  Graph graph;
  Unit unit;
  Profile profile;

  Subject() {
    Result<Graph> parsed = ParseGraph(kGraph);
    REQUIRE_MESSAGE(parsed.ok(), parsed.error().message);
    graph = std::move(*parsed);
    unit.name = "cpu";
    unit.backend = "cpu";
    unit.kind = "cpu";
    unit.multiply_accumulates_per_second = {{"f32", 1e9}};
    unit.elementary_ops_per_second = 1e9;
    profile.board = "board";
  }

  [[nodiscard]] const Op& Producer(const char* tensor) const {
    return graph.op(graph.tensor(graph.FindTensor(tensor)).producer);
  }

  /// Says that the op takes `ms`.
  void Measure(const char* tensor, double ms, double spread = 0) {
    const ProfileOperands operands(graph, Producer(tensor), nullptr);
    ProfileEntry entry;
    entry.signature = ProfileSignature(operands, profile.threads);
    entry.unit = "cpu";
    entry.kernel = operands.kernel();
    entry.durations = {10, ms, ms, spread};
    entry.kernel_terms = KernelTerms(operands, profile.machine, 1);
    entry.kind_terms = KindTerms(operands, profile.machine);
    ProfiledModel model;
    model.latency = entry.durations;
    model.steps.push_back({profile.AddOp(entry), ms});
    profile.models.push_back(model);
  }
};

TEST_CASE("A measured op takes what was measured, whole, in picoseconds") {
  Subject subject;
  subject.Measure("a", 0.25);
  const MeasuredCostModel model(subject.profile);
  const OpTime time = model.TimeOf(subject.graph, subject.Producer("a"), subject.unit);
  CHECK(time.measured);
  CHECK(time.compute == 250'000'000);
  CHECK(time.fixed == 0);
  CHECK(time.bytes == 0);
  CHECK(time.Alone(1.0) == 250'000'000);
}

TEST_CASE("An op like measured ones is predicted by the calibration") {
  Subject subject;
  subject.Measure("a", 0.25);
  subject.profile.calibration = Calibrate(CalibrationSamples(subject.profile, {}, true));
  const MeasuredCostModel model(subject.profile);
  const auto estimate = model.EstimateOf(subject.graph, subject.Producer("b"), subject.unit);
  CHECK(estimate.source == CostSource::kCalibrated);
  // Of the same kind and size: as long, as far as one sample tells.
  CHECK(estimate.ms == doctest::Approx(0.25).epsilon(0.05));
}

TEST_CASE("An op of a kind that nobody measured takes what the board says") {
  Subject subject;
  subject.Measure("a", 0.25);
  subject.profile.calibration = Calibrate(CalibrationSamples(subject.profile, {}, true));
  const MeasuredCostModel model(subject.profile);
  const Op& op = subject.Producer("y");
  const OpTime time = model.TimeOf(subject.graph, op, subject.unit);
  const OpTime analytic = AnalyticCostModel().TimeOf(subject.graph, op, subject.unit);
  CHECK(model.EstimateOf(subject.graph, op, subject.unit).source == CostSource::kAnalytic);
  CHECK_FALSE(time.measured);
  CHECK(time.compute == analytic.compute);
  CHECK(time.bytes == analytic.bytes);
}

TEST_CASE("A prediction's sources have the times of ops by where they come from, and their error") {
  Subject subject;
  subject.Measure("a", 0.25, 0.1);
  subject.profile.calibration = Calibrate(CalibrationSamples(subject.profile, {}, true));
  for (auto& [name, fitted] : subject.profile.calibration.models) fitted.error = 0.3;
  Board board;
  board.memory_spaces.resize(1);
  board.memory_spaces[0].holds_arena = true;
  board.units = {subject.unit};
  // Measured without strides: where the tensors lie is not known here.
  Locations locations;
  locations.tensors.resize(8);
  const PredictionSources sources =
      SourcesOf(subject.graph, locations, subject.graph.OpOrder(), board, subject.profile);
  const OpTime analytic =
      AnalyticCostModel().TimeOf(subject.graph, subject.Producer("y"), subject.unit);
  const auto time_of = [&](const char* tensor) {
    return MeasuredCostModel(subject.profile, &locations)
        .TimeOf(subject.graph, subject.Producer(tensor), subject.unit)
        .compute;
  };
  CHECK(sources.measured == 250'000'000);
  CHECK(sources.calibrated == time_of("b"));
  CHECK(sources.analytic == analytic.Alone(0));
  const auto measured = static_cast<double>(sources.measured);
  const auto calibrated = static_cast<double>(sources.calibrated);
  CHECK(sources.op_error ==
        doctest::Approx((0.1 * measured + 0.3 * calibrated) / (measured + calibrated)));
}

TEST_CASE("What one unit was measured at says nothing of another") {
  Subject subject;
  subject.Measure("a", 0.25);
  Unit other = subject.unit;
  other.name = "gpu";
  const MeasuredCostModel model(subject.profile);
  CHECK_FALSE(model.TimeOf(subject.graph, subject.Producer("a"), other).measured);
}

TEST_CASE("Without locations, an op that was measured in other places is known all the same") {
  Subject subject;
  subject.Measure("a", 0.25);
  subject.profile.entries[0].signature.insert(
      subject.profile.entries[0].signature.find("98,64]") + 6, ":gaps");
  const MeasuredCostModel loose(subject.profile);
  CHECK(loose.EstimateOf(subject.graph, subject.Producer("a"), subject.unit).source ==
        CostSource::kMeasured);
  Locations locations;
  locations.tensors.resize(8);
  const MeasuredCostModel strict(subject.profile, &locations);
  CHECK(strict.EstimateOf(subject.graph, subject.Producer("a"), subject.unit).source ==
        CostSource::kAnalytic);
}

TEST_CASE("The cost model of a board is the measured one where a profile of that board is given") {
  Subject subject;
  subject.Measure("a", 0.25);
  Board board;
  board.name = "board";
  const Op& op = subject.Producer("a");
  CHECK(CheckProfileFits(subject.profile, board).ok());
  CHECK(MakeCostModel(board, &subject.profile)->TimeOf(subject.graph, op, subject.unit).measured);
  CHECK_FALSE(MakeCostModel(board, nullptr)->TimeOf(subject.graph, op, subject.unit).measured);
  board.name = "another";
  const Status status = CheckProfileFits(subject.profile, board);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().kind == ErrorKind::kUsage);
  CHECK_FALSE(
      MakeCostModel(board, &subject.profile)->TimeOf(subject.graph, op, subject.unit).measured);
}

}  // namespace
}  // namespace tenon::converter
