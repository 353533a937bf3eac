// State in streams, and plans with state of random graphs on every kind of board.
#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include "tenon/tenon.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/windows_in_place.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {
namespace {

using converter::Graph;
using Arrays = std::vector<std::vector<std::byte>>;

/// sum = x + s, and s finds sum in the run after: y is the sum of all inputs so far.
constexpr const char* kSumsSoFar = R"(graph sums
input %x: f32[64]
input %s: f32[64]
%n = binary(%x, %s)
%y = unary(%n) {function=neg}
output %n as "next"
output %y as "y"
state "s" = "next"
)";

/// Hands in 1, 2, 3, ... all at once and compares the sums so far.
void CheckSums(const StreamForTest& stream, const tenon_plan* plan, int count) {
  std::vector<Job> jobs;
  for (int n = 1; n <= count; ++n) {
    std::vector<std::byte> input(64 * sizeof(float));
    for (size_t i = 0; i < 64; ++i) {
      const auto value = static_cast<float>(n);
      std::memcpy(input.data() + i * sizeof value, &value, sizeof value);
    }
    jobs.push_back(JobFor(plan, {input}));
  }
  for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
  for (int n = 1; n <= count; ++n) {
    const Job& job = jobs[static_cast<size_t>(n) - 1];
    REQUIRE(Await(stream, job.ticket) == "");
    float last = 0;
    std::memcpy(&last, job.outputs[0].data() + 63 * sizeof last, sizeof last);
    CHECK(last == static_cast<float>(-n * (n + 1) / 2));
  }
}

TEST_CASE("Stream with state: inputs are taken in the order in which they were handed in") {
  const LoadedForTest plan(PlanOf(kSumsSoFar));
  const StreamForTest stream(plan.get());
  CheckSums(stream, plan.get(), 100);
  tenon_error error;
  REQUIRE(tenon_stream_reset(stream.get(), &error) == TENON_OK);
  CheckSums(stream, plan.get(), 20);
}

TEST_CASE("Stream with state: two streams of a plan at once keep their own") {
  const LoadedForTest plan(PlanOf(kSumsSoFar));
  const StreamForTest one(plan.get());
  const StreamForTest other(plan.get());
  std::thread beside([&] { CheckSums(other, plan.get(), 100); });
  CheckSums(one, plan.get(), 100);
  beside.join();
}

/// The sum of the last four inputs; what it keeps moves on in its place.
constexpr const char* kMovingSums = R"(graph moving
input %x: f32[1,64]
input %s: f32[3,64]
%n = unary(%x) {function=relu}
%w = concat(%s, %n) {axis=0}
%k = slice(%w) {begins=[1,0], sizes=[3,64], steps=[1,1]}
%y = reduce(%w) {function=sum, axes_mask=1, keep_dims=0}
output %y
output %k
state "s" = "k"
)";

/// What the n-th step gives that is given n.
float MovingSum(int n) {
  int sum = 0;
  for (int i = n; i > 0 && i > n - 4; --i) sum += i;
  return static_cast<float>(sum);
}

TEST_CASE("Stream with state: windows in their place are each stream's and each session's own") {
  const std::vector<uint8_t> bytes = PlanOf(kMovingSums);
  REQUIRE(WindowsInPlace(bytes) == 1);
  const LoadedForTest plan(bytes);
  constexpr int kSteps = 100;
  const auto frame = [](int n) { return std::vector<float>(64, static_cast<float>(n)); };
  const auto streamed = [&](const StreamForTest& stream) {
    std::vector<Job> jobs;
    for (int n = 1; n <= kSteps; ++n) {
      std::vector<std::byte> input(64 * sizeof(float));
      std::memcpy(input.data(), frame(n).data(), input.size());
      jobs.push_back(JobFor(plan.get(), {input}));
    }
    for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
    for (int n = 1; n <= kSteps; ++n) {
      const Job& job = jobs[static_cast<size_t>(n) - 1];
      REQUIRE(Await(stream, job.ticket) == "");
      float last = 0;
      std::memcpy(&last, job.outputs[0].data() + 63 * sizeof last, sizeof last);
      CHECK(last == MovingSum(n));
    }
  };
  const auto stepped = [&](const SessionForTest& session) {
    for (int n = 1; n <= kSteps; ++n) {
      std::memcpy(tenon_session_input(session.get(), 0), frame(n).data(), 64 * sizeof(float));
      tenon_error error;
      REQUIRE(tenon_session_run(session.get(), &error) == TENON_OK);
      CHECK(*static_cast<const float*>(tenon_session_output(session.get(), 0)) == MovingSum(n));
    }
  };
  const StreamForTest streams[] = {StreamForTest(plan.get()), StreamForTest(plan.get())};
  const SessionForTest sessions[] = {SessionForTest(plan), SessionForTest(plan)};
  std::thread beside[] = {std::thread([&] { streamed(streams[1]); }),
                          std::thread([&] { stepped(sessions[0]); }),
                          std::thread([&] { stepped(sessions[1]); })};
  streamed(streams[0]);
  for (std::thread& thread : beside) thread.join();
}

TEST_CASE("Stream with state: several replicas are refused, because each would miss inputs") {
  const LoadedForTest plan(PlanOf(kSumsSoFar));
  CHECK(OpenError(plan.get(), OptionsOf(TENON_STREAM_SEQUENTIAL, 2)).find("keeps state") !=
        std::string::npos);
}

TEST_CASE("Stream with state: a reset while an input is under way is refused") {
  const LoadedForTest plan(PlanOf(kSumsSoFar));
  CHECK(tenon_stream_reset(nullptr, nullptr) == TENON_INVALID_ARGUMENT);
  const StreamForTest stream(plan.get());
  CHECK(tenon_stream_reset(stream.get(), nullptr) == TENON_OK);
}

/// Ties outputs to inputs of the same type, each once.
void TieWhatFits(Graph& graph) {
  for (const Graph::Port& output : graph.outputs()) {
    const converter::Tensor& from = graph.tensor(output.tensor);
    for (const Graph::Port& input : graph.inputs()) {
      const converter::Tensor& to = graph.tensor(input.tensor);
      const auto is_tied = [&](const Graph::State& state) {
        return state.input == input.name || state.output == output.name;
      };
      if (from.dtype != to.dtype || !(from.shape == to.shape) || to.ByteSize() == 0 ||
          std::any_of(graph.states.begin(), graph.states.end(), is_tied)) {
        continue;
      }
      graph.states.push_back({input.name, output.name, nullptr});
    }
  }
}

/// Steps of the graph evaluated op by op, state handed on by hand: outputs that are no state.
std::vector<Arrays> ExpectedSteps(const Graph& graph, const std::vector<Arrays>& inputs) {
  std::map<std::string, std::vector<std::byte>> states;
  for (const Graph::State& state : graph.states) {
    const auto bytes = graph.tensor(graph.FindPort(false, state.input)->tensor).ByteSize();
    states[state.input].resize(static_cast<size_t>(bytes));
  }
  std::vector<Arrays> outputs;
  for (const Arrays& given : inputs) {
    Arrays all;
    size_t next = 0;
    for (const Graph::Port& port : graph.inputs()) {
      const auto state = states.find(port.name);
      all.push_back(state != states.end() ? state->second : given[next++]);
    }
    const Evaluation evaluation = EvaluateGraph(graph, all);
    REQUIRE_MESSAGE(evaluation.error.empty(), evaluation.error);
    Arrays& visible = outputs.emplace_back();
    for (const Graph::Port& port : graph.outputs()) {
      const std::vector<std::byte>& value = evaluation.values.at(port.tensor);
      bool is_state = false;
      for (const Graph::State& state : graph.states) {
        if (state.output != port.name) continue;
        states[state.input] = value;
        is_state = true;
      }
      if (!is_state) visible.push_back(value);
    }
  }
  return outputs;
}

TEST_CASE("State: random graphs step by step are the bits of an evaluation with state by hand") {
  size_t tied = 0;
  for (uint64_t seed = 1; seed <= 400 && tied < 40; ++seed) {
    CAPTURE(seed);
    Graph graph = RandomGraph(seed);
    TieWhatFits(graph);
    if (graph.states.empty()) continue;
    ++tied;
    converter::ConvertOptions options = OptionsFor();
    options.board.units[0].portable_kernels_only = true;
    options.fuse = false;  // so that every value is the same to the bit
    const auto conversion = converter::ConvertGraph(graph, options);
    REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
    const LoadedForTest plan(conversion->plan);
    std::vector<Arrays> inputs;
    for (uint64_t step = 0; step < 4; ++step) {
      const Arrays all = RandomInputs(graph, 100 * seed + step);
      Arrays& given = inputs.emplace_back();
      for (size_t i = 0; i < all.size(); ++i) {
        const std::string& name = graph.inputs()[i].name;
        const bool is_state =
            std::any_of(graph.states.begin(), graph.states.end(),
                        [&](const Graph::State& state) { return state.input == name; });
        if (!is_state) given.push_back(all[i]);
      }
    }
    const std::vector<Arrays> expected = ExpectedSteps(graph, inputs);
    const StreamForTest stream(plan.get());
    for (size_t step = 0; step < inputs.size(); ++step) {
      Job job = JobFor(plan.get(), inputs[step]);
      REQUIRE(Submit(stream, job) == TENON_OK);
      REQUIRE(Await(stream, job.ticket) == "");
      CHECK(job.outputs == expected[step]);
    }
  }
  CHECK(tied >= 20);
}

}  // namespace
}  // namespace tenon::test
