// Streams for tests: opened, closed, handed inputs whose memory lives as long as it must.
#pragma once

#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"
#include "tests/unit/sdk/src/sdk_testing.hpp"

namespace tenon::test {

inline constexpr uint64_t kMinute = 60'000'000'000;

inline tenon_stream_options OptionsOf(tenon_stream_mode mode, size_t replicas = 1) {
  tenon_stream_options options{};
  options.mode = mode;
  options.replicas = replicas;
  return options;
}

/// A stream that closes itself.
class StreamForTest {
 public:
  explicit StreamForTest(const tenon_plan* plan, const tenon_stream_options& options = {}) {
    tenon_error error;
    const tenon_status status = tenon_stream_open(plan, &options, &stream_, &error);
    REQUIRE_MESSAGE(status == TENON_OK, error.message);
  }
  StreamForTest(const StreamForTest&) = delete;
  StreamForTest& operator=(const StreamForTest&) = delete;
  ~StreamForTest() { tenon_stream_close(stream_); }
  [[nodiscard]] tenon_stream* get() const { return stream_; }
  [[nodiscard]] tenon_stream_stats Stats() const {
    tenon_stream_stats stats;
    REQUIRE(tenon_stream_get_stats(stream_, &stats) == TENON_OK);
    return stats;
  }

 private:
  tenon_stream* stream_ = nullptr;
};

/// Why a stream does not open.
inline std::string OpenError(const tenon_plan* plan, const tenon_stream_options& options) {
  tenon_stream* stream = nullptr;
  tenon_error error{};
  if (tenon_stream_open(plan, &options, &stream, &error) == TENON_OK) tenon_stream_close(stream);
  return error.message;
}

/// One input with the memory of its arrays.
struct Job {
  std::vector<std::vector<std::byte>> inputs;
  std::vector<std::vector<std::byte>> outputs;
  uint64_t ticket = 0;
};

inline Job JobFor(const tenon_plan* plan, std::vector<std::vector<std::byte>> inputs) {
  Job job;
  job.inputs = std::move(inputs);
  for (size_t i = 0; i < tenon_plan_output_count(plan); ++i) {
    tenon_port_info port;
    REQUIRE(tenon_plan_output(plan, i, &port) == TENON_OK);
    job.outputs.emplace_back(port.bytes, std::byte{0xA5});
  }
  return job;
}

inline tenon_status Submit(const StreamForTest& stream, Job& job, uint64_t timeout = kMinute,
                           tenon_error* error = nullptr) {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  static std::byte nothing[16];  // empty arrays have an address too
  for (const auto& input : job.inputs) inputs.push_back(input.empty() ? nothing : input.data());
  for (auto& output : job.outputs) outputs.push_back(output.empty() ? nothing : output.data());
  return tenon_stream_submit(stream.get(), inputs.data(), outputs.data(), timeout, &job.ticket,
                             error);
}

/// The outcome's words, empty for success.
inline std::string Await(const StreamForTest& stream, uint64_t ticket, uint64_t timeout = kMinute) {
  tenon_error error{};
  const tenon_status status = tenon_stream_wait(stream.get(), ticket, timeout, &error);
  REQUIRE_MESSAGE(status != TENON_DEADLINE_EXCEEDED, error.message);
  CHECK((status == TENON_OK) == (error.message[0] == '\0'));
  return error.message;
}

inline std::vector<std::byte> Floats(size_t count, float value) {
  std::vector<std::byte> bytes(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    const float element = value + static_cast<float>(i);
    std::memcpy(bytes.data() + i * sizeof(float), &element, sizeof element);
  }
  return bytes;
}

/// A pipeline of three stages on arrays of `kAdderElements` f32:
///   stage 0: a = x + x     stage 1: b = a + y     stage 2: out = b + a = 4 x + y
/// `a` is handed on in a ring of `a_slots` that both later stages read, `b` in one of `b_slots`.
inline constexpr int32_t kAdderElements = 64;
/// With `device`, stage 1 is a segment of that backend; with `fallback`, the CPU can stand in for
/// it.
inline PlanSpec AdderPipeline(uint16_t a_slots, uint16_t b_slots, const std::string& device = "",
                              bool fallback = false) {
  PlanSpec spec;
  spec.mode = 1;
  spec.kernels = {"cpu.binary.portable"};
  constexpr uint64_t kBytes = kAdderElements * sizeof(float);
  spec.arenas = {{kBytes}, {kBytes}, {kBytes}, {kBytes}, {kBytes}};
  spec.arenas[3].slots = a_slots;
  spec.arenas[4].slots = b_slots;
  std::vector<uint32_t> tensors;  // x, y, out, a, b
  for (uint16_t arena = 0; arena < 5; ++arena) {
    spec.storages.push_back({0, kBytes, false, arena});
    tensors.push_back(spec.AddTensor(arena, {kAdderElements}));
  }
  const auto [x, y, out, a, b] =
      std::tuple(tensors[0], tensors[1], tensors[2], tensors[3], tensors[4]);
  spec.AddOp({x, x}, {a}, 0, {}, 0);
  spec.AddOp({a, y}, {b}, 1, {}, 1);
  spec.AddOp({b, a}, {out}, 2, {}, 2);
  const BinaryAttributes add;
  for (OpSpec& op : spec.ops) {
    op.kind = static_cast<uint16_t>(OpKind::kBinary);
    op.attributes.resize(sizeof add / sizeof(int32_t));
    std::memcpy(op.attributes.data(), &add, sizeof add);
  }
  for (uint16_t stage = 0; stage < 3; ++stage) spec.segments[stage].stage = stage;
  spec.stages = {0, 1, 2};
  spec.channels = {{0, 2, {a}, a_slots, 3}, {1, 2, {b}, b_slots, 4}};
  if (!device.empty()) {
    spec.backends.push_back(device);
    spec.kernels.push_back(device + ".binary.portable");
    spec.segments[1].backend = 1;
    spec.segments[1].reads = {a, y};
    spec.segments[1].writes = {b};
    spec.ops[1].kernel = 1;
    if (fallback) spec.ops[1].fallback_kernel = 0;
  }
  spec.inputs = {{"x", x}, {"y", y}};
  spec.outputs = {{"out", out}};
  return spec;
}

/// Input number `n` of an adder pipeline, and what comes out.
inline std::vector<std::vector<std::byte>> AdderInputs(size_t n) {
  return {Floats(kAdderElements, static_cast<float>(n % 1000)),
          Floats(kAdderElements, static_cast<float>(7 * (n % 500)))};
}
inline bool IsAdderOutput(size_t n, const std::vector<std::byte>& output) {
  const auto inputs = AdderInputs(n);
  for (size_t i = 0; i < kAdderElements; ++i) {
    float x = 0;
    float y = 0;
    float out = 0;
    std::memcpy(&x, inputs[0].data() + 4 * i, 4);
    std::memcpy(&y, inputs[1].data() + 4 * i, 4);
    std::memcpy(&out, output.data() + 4 * i, 4);
    if (out != 4 * x + y) return false;
  }
  return true;
}

}  // namespace tenon::test
