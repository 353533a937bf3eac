// The converter from a program: what a request's options do.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tenon/converter.hpp"
#include "tenon/inspect.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"

namespace {

using tenon::ConvertError;
using tenon::ConvertRequest;

ConvertRequest Digits() {
  const char* root = std::getenv("TENON_SOURCE_DIR");
  ConvertRequest request;
  request.model =
      (std::filesystem::path(root != nullptr ? root : ".") / "sdk/models/digits" / "digits.onnx")
          .string();
  request.board = "x86-64";
  request.batch = 1;
  return request;
}

nlohmann::json DecisionsOf(const ConvertRequest& request) {
  const auto converted = tenon::Convert(request);
  REQUIRE_MESSAGE(converted, converted.error().message);
  return nlohmann::json::parse(converted->decisions_json);
}

ConvertError ErrorOf(const ConvertRequest& request) {
  const auto converted = tenon::Convert(request);
  REQUIRE_FALSE(converted);
  return converted.error();
}

TEST_CASE("A request's order, seed and budget are those of the conversion") {
  ConvertRequest request = Digits();
  request.seed = 77;
  request.order = ConvertRequest::Order::kSource;
  CHECK(DecisionsOf(request)["order"]["mode"] == "source");
  request.order = ConvertRequest::Order::kRandom;
  const auto random = DecisionsOf(request);
  CHECK(random["order"]["mode"] == "random");
  CHECK(random["order"]["seed"] == 77);
  request.order = ConvertRequest::Order::kSearch;
  CHECK(DecisionsOf(request)["order"]["mode"] == "search");
  request.order_budget = -1;
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
}

TEST_CASE("A request with samples makes the model compute with integers") {
  ConvertRequest request = Digits();
  ConvertRequest::Constant samples{"f32", {4, 1, 8, 8}, {}};
  for (int i = 0; i < 4 * 64; ++i) {
    const float value = static_cast<float>(i * 37 % 64) / 64;
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    samples.bytes.insert(samples.bytes.end(), bytes, bytes + sizeof value);
  }
  request.quantize.emplace();
  request.quantize->samples["images"] = samples;
  request.quantize->keep = {"dense"};
  const auto decisions = DecisionsOf(request);
  CHECK(decisions["quantization"]["samples"] == 4);
  CHECK(decisions["quantization"]["integer_layers"] == 3);
  CHECK(DecisionsOf(Digits())["quantization"].is_null());
  request.quantize->ranges = "wide";
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
  request.quantize->ranges = "mse";
  request.quantize->samples["images"].bytes.resize(8);
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
}

TEST_CASE("A shape has at least 0 in every dimension, and the one that has not is named") {
  ConvertRequest request = Digits();
  request.batch = 0;
  request.shapes["image"] = {1, 1, -1, 8};
  const ConvertError error = ErrorOf(request);
  CHECK(error.kind == ConvertError::Kind::kUsage);
  CHECK(error.message == "--shape image: dimension 2 is -1: give 0 or more");
}

TEST_CASE("The graph is searched part by part unless the request says no") {
  const auto model = tenon::test::SharedPath("models/squeezenet1.1/model_fp32.onnx");
  if (model.empty()) return;
  ConvertRequest request = Digits();
  request.model = model.string();
  request.batch = 0;
  CHECK(DecisionsOf(request)["order"]["subgraphs"].size() > 1);
  request.key_nodes = false;
  CHECK(DecisionsOf(request)["order"]["subgraphs"].size() == 1);
}

TEST_CASE("What does not fit is split, or refused without splits") {
  ConvertRequest request = Digits();
  request.memory_limits["ram"] = 20 * 1024;
  CHECK_FALSE(DecisionsOf(request)["splits"].empty());
  request.split = false;
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kDoesNotFit);
}

TEST_CASE("A limit that is asked for is weighed against the table, the board's own memory is not") {
  ConvertRequest request = Digits();
  request.board = "rk3588";
  CHECK_FALSE(DecisionsOf(request)["memory"].contains("only_unit"));
  request.memory_limits["ddr"] = 1 << 30;
  CHECK(DecisionsOf(request)["memory"]["only_unit"] == "big");
}

TEST_CASE("The memory objective gives a smaller arena than the latency objective") {
  ConvertRequest request = Digits();
  const auto fast = DecisionsOf(request);
  request.objective = ConvertRequest::Objective::kMemory;
  const auto small = DecisionsOf(request);
  CHECK(small["predicted"]["peak_bytes"]["ram"] < fast["predicted"]["peak_bytes"]["ram"]);
}

TEST_CASE("A frozen input becomes a constant of the plan") {
  ConvertRequest request = Digits();
  request.batch = 0;  // the only input's first dimension is no longer free
  request.freeze["image"] = {"f32", {1, 1, 8, 8}, std::vector<std::byte>(256)};
  // Everything depends on it: all is folded, and next to nothing is left to run.
  const auto frozen = DecisionsOf(request);
  CHECK(frozen["ops"]["executed"] < DecisionsOf(Digits())["ops"]["executed"]);
}

TEST_CASE("A frozen constant that cannot be is refused by its input's name") {
  const std::vector<std::byte> bytes(256);
  for (const auto& [name, constant] : std::map<std::string, ConvertRequest::Constant>{
           {"image", {"float", {1, 1, 8, 8}, bytes}},
           {"none such", {"f32", {1, 1, 8, 8}, bytes}}}) {
    ConvertRequest request = Digits();
    request.batch = 0;
    request.freeze[name] = constant;
    const ConvertError error = ErrorOf(request);
    CHECK(error.kind == ConvertError::Kind::kUsage);
    CHECK(error.message.find(name) != std::string::npos);
  }
  for (const ConvertRequest::Constant& constant :
       std::vector<ConvertRequest::Constant>{{"i32", {1, 1, 8, 8}, bytes},
                                             {"f32", {1, 1, 64}, bytes},
                                             {"f32", {1, 1, 8, -8}, bytes},
                                             {"f32", {1, 1, 8, int64_t{1} << 40}, bytes},
                                             {"f32", std::vector<int64_t>(40, 1), bytes},
                                             {"f32", {1, 1, 8, 8}, std::vector<std::byte>(255)}}) {
    ConvertRequest request = Digits();
    request.batch = 0;
    request.freeze["image"] = constant;
    CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
  }
}

TEST_CASE("A profile that cannot be read is refused by its name") {
  ConvertRequest request = Digits();
  request.profile = "no-such-profile.json";
  const ConvertError error = ErrorOf(request);
  CHECK(error.kind == ConvertError::Kind::kInput);
  CHECK(error.message.find("no-such-profile.json") != std::string::npos);
}

nlohmann::json InspectionOf(const ConvertRequest& request) {
  const auto converted = tenon::Convert(request);
  REQUIRE_MESSAGE(converted, converted.error().message);
  const auto inspection = tenon::InspectPlan(converted->bytes);
  REQUIRE_MESSAGE(inspection, inspection.error().message);
  CHECK(inspection->text.find("x86-64") != std::string::npos);
  return nlohmann::json::parse(inspection->json);
}

TEST_CASE("A plan whose board's name is no text can be looked at") {
  const auto converted = tenon::Convert(Digits());
  REQUIRE(converted);
  std::vector<uint8_t> plan = converted->bytes;
  const std::string name = "x86-64";
  auto at = std::search(plan.begin(), plan.end(), name.begin(), name.end());
  REQUIRE(at != plan.end());
  *at = 0xFF;
  tenon::test::Seal(plan);
  const auto inspection = tenon::InspectPlan(plan);
  REQUIRE_MESSAGE(inspection, inspection.error().message);
  CHECK(inspection->json.find("\xEF\xBF\xBD"
                              "86-64") != std::string::npos);
}

TEST_CASE("Without reports a request gives the same plan and its summary alone") {
  ConvertRequest request = Digits();
  const auto reported = tenon::Convert(request);
  request.reports = false;
  const auto bare = tenon::Convert(request);
  REQUIRE(reported);
  REQUIRE(bare);
  CHECK(bare->bytes == reported->bytes);
  CHECK(bare->summary == reported->summary);
  CHECK(bare->decisions_json.empty());
  CHECK(bare->details.empty());
  CHECK_FALSE(reported->decisions_json.empty());
  CHECK_FALSE(reported->details.empty());
}

TEST_CASE("What a request records is in the plan") {
  ConvertRequest request = Digits();
  request.recorded = {{"made-by", "a test"}};
  CHECK(InspectionOf(request)["options"]["made-by"] == "a test");
}

TEST_CASE("An input format and the form of weights change the plan as they do for the command") {
  ConvertRequest request = Digits();
  request.input_formats = {{"image", "u8,nhwc,scale=0.0625"}};
  request.weights = "f16";
  CHECK(InspectionOf(request)["inputs"][0]["dtype"] == "u8");
  CHECK(DecisionsOf(request)["weights"]["form"] == "f16");
  request.weights = "f17";
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
  request.weights = "model";
  request.input_formats = {{"image", "u9"}};
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
}

TEST_CASE("An output format that does not fit is the caller's mistake") {
  ConvertRequest request = Digits();
  request.output_formats = {{"nowhere", "nhwc"}};
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
  CHECK(ErrorOf(request).message.find("output format of 'nowhere'") != std::string::npos);
  request.output_formats = {{"nowhere", "hwcn"}};
  CHECK(ErrorOf(request).message.find("neither nhwc nor nchw") != std::string::npos);
}

TEST_CASE("Mapping and parallel programs are the request's") {
  ConvertRequest request = Digits();
  request.parallel.threads = 4;
  request.parallel.mode = "replicas";
  CHECK(DecisionsOf(request)["parallel"]["mode"] == "replicas");
  request.parallel.mode = "sideways";
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
  request = Digits();
  request.mapping.pins = {"*=nowhere"};
  CHECK(ErrorOf(request).message.find("nowhere") != std::string::npos);
  request = Digits();
  request.most_slowdown = 2;
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
  request.objective = ConvertRequest::Objective::kMemory;
  CHECK_FALSE(DecisionsOf(request).empty());
}

TEST_CASE("A limit of a memory space that the board has not is refused by its name") {
  ConvertRequest request = Digits();
  request.memory_limits["attic"] = 1 << 20;
  CHECK(ErrorOf(request).message == "board 'x86-64' has no memory space 'attic': it has ram, file");
  request.memory_limits = {{"ram", -1}};
  CHECK(ErrorOf(request).kind == ConvertError::Kind::kUsage);
}

TEST_CASE("Progress names the phases, and the summary says what was decided") {
  ConvertRequest request = Digits();
  std::vector<std::string> phases;
  request.progress = [&](const std::string& phase, int, int) { phases.push_back(phase); };
  const auto converted = tenon::Convert(request);
  REQUIRE(converted);
  REQUIRE_FALSE(phases.empty());
  CHECK(phases.front() == "reading");
  CHECK(phases.back() == "checking");
  CHECK(converted->summary.find("ram: arena ") == 0);
  CHECK(converted->details.find("pass simplify: ") != std::string::npos);
  CHECK(converted->summary.find("pass ") == std::string::npos);
  CHECK(converted->ops_executed > 0);
  CHECK(converted->ops_imported > converted->ops_executed);
}

/// Keeps plans, and says of each run what it took.
class ScriptedTarget : public tenon::OrderTarget {
 public:
  explicit ScriptedTarget(std::vector<double> ms) : ms_(std::move(ms)) {}
  void Store(size_t candidate, const std::vector<uint8_t>& plan) override {
    plans_[candidate] = plan;
  }
  std::vector<uint8_t> Load(size_t candidate) override { return plans_.at(candidate); }
  double MedianMs(size_t candidate, int threads) override {
    threads_ = threads;
    runs_.push_back(candidate);
    return ms_[std::min(runs_.size(), ms_.size()) - 1];
  }
  [[nodiscard]] const std::map<size_t, std::vector<uint8_t>>& plans() const { return plans_; }
  [[nodiscard]] const std::vector<size_t>& runs() const { return runs_; }
  [[nodiscard]] int threads() const { return threads_; }

 private:
  std::vector<double> ms_;
  std::map<size_t, std::vector<uint8_t>> plans_;
  std::vector<size_t> runs_;
  int threads_ = 0;
};

tenon::BoardSummary BoardNamed(const std::string& name) {
  for (const tenon::BoardSummary& board : tenon::BuiltInBoards()) {
    if (board.name == name) return board;
  }
  FAIL("no board");
  return {};
}

TEST_CASE("Measured orders take turns, and the one with the best median is kept") {
  const auto model = tenon::test::SharedPath("models/squeezenet1.1/model_fp32.onnx");
  if (model.empty()) return;
  ConvertRequest request = Digits();
  request.model = model.string();
  request.batch = 0;
  // The search keeps the model's own order: two plans in two rounds.
  ScriptedTarget target({18, 19, 18, 17});
  request.measured = {&target, 3, 2};
  std::vector<std::string> measuring;
  request.progress = [&](const std::string& phase, int index, int count) {
    if (phase.find("measuring") == 0) {
      measuring.push_back(phase);
      CHECK(index == static_cast<int>(measuring.size()));
      CHECK(count == 4);
    }
  };
  const auto converted = tenon::Convert(request);
  REQUIRE_MESSAGE(converted, converted.error().message);
  const auto& orders = converted->measured;
  REQUIRE(orders.size() == 3);
  CHECK(orders[0].order == "search");
  CHECK(orders[1].order == "source");
  CHECK(orders[2].order == "random");
  CHECK(orders[1].same_as == 0);
  REQUIRE(target.plans().size() == 2);
  CHECK(target.runs() == std::vector<size_t>{0, 2, 0, 2});
  CHECK(target.threads() == BoardNamed("x86-64").units.at(0).threads);
  CHECK(measuring.size() == 4);
  CHECK(orders[0].ms == 18);
  CHECK(orders[1].ms == 18);
  CHECK(orders[2].ms == 17);
  CHECK_FALSE(orders[0].chosen);
  CHECK(orders[2].chosen);
  CHECK(converted->bytes == target.plans().at(2));
  CHECK(nlohmann::json::parse(converted->decisions_json)["order"]["measured"].size() == 3);
}

TEST_CASE("A plan becomes C source, named as C allows") {
  ConvertRequest request = Digits();
  request.board = "cortex-m55";
  const auto firmware = tenon::Convert(request);
  REQUIRE_MESSAGE(firmware, firmware.error().message);
  const auto source = tenon::EmitCSource(firmware->bytes, "2 digits", "digits.h");
  REQUIRE_MESSAGE(source, source.error().message);
  CHECK(source->source.find("#include \"digits.h\"") != std::string::npos);
  CHECK(source->header.find("model_2_digits_plan") != std::string::npos);
  CHECK_FALSE(tenon::EmitCSource({}, "digits", "digits.h"));
}

TEST_CASE("Boards have their units and memory") {
  const tenon::BoardSummary board = BoardNamed("x86-64");
  CHECK_FALSE(board.units.empty());
  CHECK(board.memory_spaces.at(0).bytes > 0);
}

TEST_CASE("Buffers of a table are placed by themselves") {
  tenon::PlaceRequest request;
  request.csv = "id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,4\n";
  const auto placed = tenon::PlaceBuffers(request);
  REQUIRE_MESSAGE(placed, placed.error().message);
  CHECK(placed->buffers == 3);
  CHECK(placed->peak == 8);
  CHECK(placed->proven_optimal);
  CHECK(placed->csv.find("id,lower,upper,size,offset\n") == 0);
  request.csv = "id,lower\n";
  const auto refused = tenon::PlaceBuffers(request);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ConvertError::Kind::kInput);
}

}  // namespace
