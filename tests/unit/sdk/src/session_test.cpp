// What sessions promise: bound memory, independence from each other, tracing, the C++ interface.
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tenon/tenon.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/unit/sdk/src/sdk_testing.hpp"

namespace tenon::test {
namespace {

using Arrays = std::vector<std::vector<std::byte>>;

converter::Graph SmallGraph() { return std::move(*converter::ParseGraph(kSmallModel)); }

/// What the model's outputs must be, by evaluating its graph op by op.
Arrays Expected(const Arrays& inputs) {
  const converter::Graph graph = SmallGraph();
  const Evaluation evaluation = EvaluateGraph(graph, inputs);
  REQUIRE_MESSAGE(evaluation.error.empty(), evaluation.error);
  Arrays outputs;
  for (const auto& port : graph.outputs()) outputs.push_back(evaluation.values.at(port.tensor));
  return outputs;
}

void WriteInputs(tenon_session* session, const Arrays& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::memcpy(tenon_session_input(session, i), inputs[i].data(), inputs[i].size());
  }
}

void CheckOutputs(const tenon_session* session, const Arrays& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto* data = static_cast<const std::byte*>(tenon_session_output(session, i));
    CHECK(RelativeDifference({data, data + expected[i].size()}, expected[i]) < 1e-5);
  }
}

TEST_CASE("Plan queries: ports come in the model's order with names, dtypes and shapes") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  tenon_port_info port;
  REQUIRE(tenon_plan_input_count(plan.get()) == 2);
  REQUIRE(tenon_plan_input(plan.get(), 1, &port) == TENON_OK);
  CHECK(std::string(port.name) == "other");
  CHECK(port.dtype == TENON_F32);
  CHECK(port.rank == 4);
  CHECK(port.dims[1] == 2);
  CHECK(port.bytes == 128);
  REQUIRE(tenon_plan_output(plan.get(), 1, &port) == TENON_OK);
  CHECK(std::string(port.name) == "means");
  CHECK(port.rank == 2);
  CHECK(port.bytes == 16);
  tenon_op_info op;
  REQUIRE(tenon_plan_op(plan.get(), 0, &op) == TENON_OK);
  CHECK(std::string(op.kind) == "conv");
  CHECK(std::string(op.kernel) == op.planned_kernel);
}

TEST_CASE("Sessions: the same plan runs again and again with new inputs") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Arrays inputs = RandomInputs(SmallGraph(), seed);
    WriteInputs(session.get(), inputs);
    REQUIRE(tenon_session_run(session.get(), nullptr) == TENON_OK);
    CheckOutputs(session.get(), Expected(inputs));
  }
}

TEST_CASE("Bindings: a run reads and writes the caller's memory, aligned to an element only") {
  for (const bool portable : {true, false}) {
    const LoadedForTest plan(PlanOf(kSmallModel, portable), 1,
                             portable ? tenon_backend_cpu_portable() : tenon_backend_cpu());
    const SessionForTest session(plan);
    const Arrays inputs = RandomInputs(SmallGraph(), 7);
    const Arrays expected = Expected(inputs);
    Memory memory = MakeMemory(4096);
    char* at = reinterpret_cast<char*>(memory.data()) + 4;
    for (size_t i = 0; i < 2; ++i, at += 132) {
      std::memcpy(at, inputs[i].data(), 128);
      REQUIRE(tenon_session_bind_input(session.get(), i, at, 128, nullptr) == TENON_OK);
      CHECK(tenon_session_input(session.get(), i) == at);
    }
    for (size_t i = 0; i < 2; ++i, at += expected[0].size() + 4) {
      REQUIRE(tenon_session_bind_output(session.get(), i, at, expected[i].size(), nullptr) ==
              TENON_OK);
    }
    const Memory given = memory;
    REQUIRE(tenon_session_run(session.get(), nullptr) == TENON_OK);
    CheckOutputs(session.get(), expected);
    CHECK(std::memcmp(given.data(), memory.data(), 268) == 0);  // inputs are as they were
  }
}

TEST_CASE("Bindings: NULL goes back to the arena") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  const void* input = tenon_session_input(session.get(), 0);
  const void* output = tenon_session_output(session.get(), 0);
  std::vector<float> data(96);
  REQUIRE(tenon_session_bind_input(session.get(), 0, data.data(), 128, nullptr) == TENON_OK);
  REQUIRE(tenon_session_bind_output(session.get(), 0, data.data() + 32, 256, nullptr) == TENON_OK);
  REQUIRE(tenon_session_bind_input(session.get(), 0, nullptr, 0, nullptr) == TENON_OK);
  REQUIRE(tenon_session_bind_output(session.get(), 0, nullptr, 0, nullptr) == TENON_OK);
  CHECK(tenon_session_input(session.get(), 0) == input);
  CHECK(tenon_session_output(session.get(), 0) == output);
  const Arrays inputs = RandomInputs(SmallGraph(), 9);
  WriteInputs(session.get(), inputs);
  REQUIRE(tenon_session_run(session.get(), nullptr) == TENON_OK);
  CheckOutputs(session.get(), Expected(inputs));
}

TEST_CASE("Bindings: a residual that its convolution would take over may be the caller's") {
  constexpr const char* kResidual = R"(graph residual
input %x: f32[1,4,5,5]
input %r: f32[1,4,5,5]
const %w: f32[4,4,3,3] = random(3)
%y = conv(%x, %w, _, %r) {pads=[1,1,1,1]}
output %y
)";
  const auto graph = converter::ParseGraph(kResidual);
  REQUIRE(graph.ok());
  const Arrays inputs = RandomInputs(*graph, 4);
  const Evaluation expected = EvaluateGraph(*graph, inputs);
  for (const bool portable : {true, false}) {
    const RunResult run = RunPlan(PlanOf(kResidual, portable), inputs, {portable, 1, true});
    REQUIRE_MESSAGE(run.error.empty(), run.error);
    CHECK(RelativeDifference(run.outputs[0], expected.values.at(graph->outputs()[0].tensor)) <
          1e-5);
  }
}

TEST_CASE("Sessions: two of one plan run at once on two threads") {
  for (const bool portable : {true, false}) {
    const LoadedForTest plan(PlanOf(kSmallModel, portable), 1,
                             portable ? tenon_backend_cpu_portable() : tenon_backend_cpu());
    const SessionForTest sessions[2] = {SessionForTest(plan), SessionForTest(plan)};
    constexpr int kRuns = 200;
    int wrong[2] = {0, 0};
    const auto work = [&](size_t which) {
      for (uint64_t run = 0; run < kRuns; ++run) {
        const uint64_t seed = 2 * (run % 4) + which;
        const Arrays inputs = RandomInputs(SmallGraph(), seed);
        const Evaluation expected = EvaluateGraph(SmallGraph(), inputs);
        tenon_session* session = sessions[which].get();
        WriteInputs(session, inputs);
        if (tenon_session_run(session, nullptr) != TENON_OK) ++wrong[which];
        const auto& wanted = expected.values.at(SmallGraph().outputs()[0].tensor);
        const auto* data = static_cast<const std::byte*>(tenon_session_output(session, 0));
        if (RelativeDifference({data, data + wanted.size()}, wanted) > 1e-5) ++wrong[which];
      }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    CHECK(wrong[0] == 0);
    CHECK(wrong[1] == 0);
  }
}

TEST_CASE("Sessions: a trace names every op once, in order") {
  struct Record {
    std::vector<size_t> ops;
    uint64_t now = 0;
    uint64_t total = 0;
  } record;
  tenon_trace trace{};
  trace.context = &record;
  trace.clock_nanoseconds = [](void* context) { return static_cast<Record*>(context)->now += 5; };
  trace.record = [](void* context, size_t op, uint64_t nanoseconds) {
    static_cast<Record*>(context)->ops.push_back(op);
    static_cast<Record*>(context)->total += nanoseconds;
  };
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  REQUIRE(tenon_session_run_traced(session.get(), &trace, nullptr) == TENON_OK);
  REQUIRE(record.ops.size() == tenon_plan_op_count(plan.get()));
  for (size_t i = 0; i < record.ops.size(); ++i) CHECK(record.ops[i] == i);
  CHECK(record.total == 5 * record.ops.size());
}

TEST_CASE("tenon.hpp: opens a file, finds ports by name, runs, and closes what it opened") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("tenon_session_test_{}.tenon", getpid());
  const std::vector<uint8_t> bytes = PlanOf(kSmallModel);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  auto opened = Plan::Open(path.string());
  std::filesystem::remove(path);  // the mapping stays
  REQUIRE_MESSAGE(opened, opened.error().message);
  const Plan plan = std::move(*opened);
  CHECK(plan.InputCount() == 2);
  CHECK(plan.FindInput("other") == 1);
  CHECK(plan.FindOutput("means") == 1);
  CHECK_FALSE(plan.FindInput("means").has_value());
  auto session = Session::Open(plan);
  REQUIRE(session);
  Session moved = std::move(*session);
  const Arrays inputs = RandomInputs(SmallGraph(), 3);
  WriteInputs(moved.handle(), inputs);
  CHECK_FALSE(moved.Run().has_value());
  CheckOutputs(moved.handle(), Expected(inputs));
  CHECK(moved.BindInput(9, nullptr, 0).has_value());
  const auto missing = Plan::Open("no/such/file");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().status == TENON_IO_ERROR);
}

}  // namespace
}  // namespace tenon::test
