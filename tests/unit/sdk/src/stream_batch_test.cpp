// Batches that are given to a stream in one call, and workers that share each other's ops.
#include <algorithm>
#include <thread>

#include "tests/unit/sdk/src/dealt_program.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {
namespace {

constexpr size_t kRowElements = 16;

/// y = x + x on arrays of `rows` rows.
PlanSpec Doubler(int32_t rows, uint8_t mode) {
  PlanSpec spec;
  spec.mode = mode;
  spec.kernels = {"cpu.binary.portable"};
  const uint64_t bytes = static_cast<uint64_t>(rows) * kRowElements * sizeof(float);
  spec.arenas = {{2 * bytes}};
  spec.storages = {{0, bytes, false, 0}, {bytes, bytes, false, 0}};
  const uint32_t x = spec.AddTensor(0, {rows, static_cast<int32_t>(kRowElements)});
  const uint32_t y = spec.AddTensor(1, {rows, static_cast<int32_t>(kRowElements)});
  spec.AddOp({x, x}, {y}, 0, {}, 0);
  const BinaryAttributes add;
  spec.ops[0].kind = static_cast<uint16_t>(OpKind::kBinary);
  spec.ops[0].attributes.resize(sizeof add / sizeof(int32_t));
  std::memcpy(spec.ops[0].attributes.data(), &add, sizeof add);
  spec.inputs = {{"x", x}};
  spec.outputs = {{"y", y}};
  return spec;
}

struct BatchResult {
  tenon_status status = TENON_OK;
  std::string error;
  std::vector<float> outputs;  ///< with a row behind those of the batch
};

BatchResult RunRows(const StreamForTest& stream, size_t rows) {
  std::vector<float> inputs(std::max<size_t>(rows, 1) * kRowElements);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<float>(i);
  BatchResult result;
  result.outputs.assign((rows + 1) * kRowElements, -1.0F);
  const void* in = inputs.data();
  void* out = result.outputs.data();
  tenon_error error{};
  result.status = tenon_stream_run_batch(stream.get(), rows, &in, &out, &error);
  result.error = error.message;
  return result;
}

bool AreDoubled(const BatchResult& result, size_t rows) {
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const float expected = i < rows * kRowElements ? 2 * static_cast<float>(i) : -1.0F;
    if (result.outputs[i] != expected) return false;
  }
  return true;
}

constexpr uint8_t kSequential = 0;
constexpr uint8_t kReplicas = 2;

TEST_CASE(
    "Batches: every row of any batch lands in its row, whatever shards and replicas there are") {
  for (const int32_t shard : {1, 2, 4, 11, 40}) {
    const LoadedForTest plan(Doubler(shard, shard == 1 ? kSequential : kReplicas).Write());
    for (const size_t replicas : {1, 2, 3}) {
      const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_SEQUENTIAL, replicas));
      for (const size_t rows : {1, 3, 7, 32, 33, 200}) {
        CAPTURE(shard);
        CAPTURE(replicas);
        CAPTURE(rows);
        const BatchResult result = RunRows(stream, rows);
        CHECK_MESSAGE(result.status == TENON_OK, result.error);
        CHECK(AreDoubled(result, rows));
      }
    }
  }
}

TEST_CASE("Batches: a program that may need its whole batch takes that many rows and no others") {
  const LoadedForTest plan(Doubler(4, kSequential).Write());
  const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_SEQUENTIAL, 2));
  const BatchResult whole = RunRows(stream, 4);
  CHECK_MESSAGE(whole.status == TENON_OK, whole.error);
  CHECK(AreDoubled(whole, 4));
  const BatchResult part = RunRows(stream, 3);
  CHECK(part.status == TENON_FAILED_PRECONDITION);
  CHECK(part.error.find("4 rows together, 3 were given") != std::string::npos);
}

TEST_CASE("Batches: none of no rows, and none of a program without rows") {
  const LoadedForTest plan(Doubler(2, kReplicas).Write());
  const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_SEQUENTIAL, 2));
  CHECK(RunRows(stream, 0).status == TENON_INVALID_ARGUMENT);
  float row[kRowElements] = {};
  const void* input[] = {row};
  void* output[] = {row};
  tenon_error too_many{};
  CHECK(tenon_stream_run_batch(stream.get(), SIZE_MAX, input, output, &too_many) ==
        TENON_INVALID_ARGUMENT);

  PlanSpec unlike = Doubler(2, kReplicas);
  unlike.arenas.push_back({kRowElements * sizeof(float)});
  unlike.storages.push_back({0, kRowElements * sizeof(float), false, 1});
  const uint32_t one_row = unlike.AddTensor(2, {1, static_cast<int32_t>(kRowElements)});
  unlike.ops[0].inputs[1] = static_cast<int32_t>(one_row);
  unlike.inputs.push_back({"one row", one_row});
  const LoadedForTest none(unlike.Write());
  const StreamForTest other(none.get());
  std::vector<float> values(2 * kRowElements);
  std::vector<float> results(2 * kRowElements);
  const void* in[] = {values.data(), values.data()};
  void* out = results.data();
  tenon_error error{};
  CHECK(tenon_stream_run_batch(other.get(), 2, in, &out, &error) == TENON_FAILED_PRECONDITION);
  CHECK(std::string(error.message).find("no first dimension in common") != std::string::npos);
}

TEST_CASE("Batches: several threads may run batches on one stream") {
  const LoadedForTest plan(Doubler(4, kReplicas).Write());
  const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_SEQUENTIAL, 2));
  std::vector<std::thread> threads;
  std::vector<int> right(3, 0);
  for (size_t i = 0; i < right.size(); ++i) {
    threads.emplace_back([&, i] {
      for (size_t n = 0; n < 20; ++n) {
        const size_t rows = 5 + i + n;
        const BatchResult result = RunRows(stream, rows);
        right[i] += result.status == TENON_OK && AreDoubled(result, rows) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::vector<int>(3, 20));
}

TEST_CASE("Teams that share ops: values do not depend on who helps whom") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const Graph graph = RandomGraph(seed);
    const DealtProgram program = MakeProgram(RandomGraph(seed), 2 + seed % 3, 1 + seed % 3);
    if (program.schedule.workers.size() < 2) continue;
    const LoadedForTest plan(program.Plan());
    const StreamForTest stream(plan.get(), OptionsOf(TENON_STREAM_INTER_INTRA, 2));
    std::vector<Job> jobs;
    for (uint64_t n = 0; n < 8; ++n) {
      jobs.push_back(JobFor(plan.get(), RandomInputs(graph, 100 * seed + n)));
    }
    for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
    for (const Job& job : jobs) {
      CHECK(Await(stream, job.ticket) == "");
      const Evaluation expected = EvaluateGraph(graph, job.inputs);
      REQUIRE_MESSAGE(expected.error.empty(), expected.error);
      for (size_t i = 0; i < graph.outputs().size(); ++i) {
        CHECK(job.outputs[i] == expected.values.at(graph.outputs()[i].tensor));
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
