// Plans run in exactly the memory that they state: every block that the runtime may write, and the
// plan itself, ends or begins at a page that nobody may touch.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "converter/ir/text.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/support/windows_in_place.hpp"
#include "tests/unit/sdk/src/guarded_memory.hpp"
#include "tests/unit/sdk/src/sdk_testing.hpp"
#include "tests/unit/sdk/src/split_graphs.hpp"

namespace tenon::test {
namespace {

using Arrays = std::vector<std::vector<std::byte>>;

struct Setting {
  bool portable = false;
  int threads = 1;
  bool bound = false;  ///< inputs and outputs in memory of their own
  GuardedEdge edge = GuardedEdge::kEnd;
};

/// A plan and a session, each part in guarded memory of its own.
class GuardedRun {
 public:
  GuardedRun(const std::vector<uint8_t>& bytes, const Setting& setting)
      : setting_(setting), file_(Guard(bytes.size(), 16)) {
    std::memcpy(file_.data(), bytes.data(), bytes.size());
    file_.Seal();
    size_t scratch_bytes = 0;
    size_t state_bytes = 0;
    REQUIRE(tenon_plan_scratch_size(file_.data(), file_.size(), &scratch_bytes, &error_) ==
            TENON_OK);
    REQUIRE(tenon_plan_state_size(file_.data(), file_.size(), &state_bytes, &error_) == TENON_OK);
    GuardedMemory& state = Guard(state_bytes, 16);
    GuardedMemory& scratch = Guard(scratch_bytes, 16);
    const tenon_backend* backend =
        setting.portable ? tenon_backend_cpu_portable() : tenon_backend_cpu();
    const tenon_backends backends{&backend, 1};
    const tenon_status status =
        tenon_plan_load(file_.data(), file_.size(), &backends, setting.threads, state.data(),
                        state.size(), scratch.data(), scratch.size(), &plan_, &error_);
    REQUIRE_MESSAGE(status == TENON_OK, error_.message);
    OpenSession();
  }
  GuardedRun(const GuardedRun&) = delete;
  GuardedRun& operator=(const GuardedRun&) = delete;
  ~GuardedRun() {
    tenon_session_destroy(session_);
    tenon_plan_unload(plan_);
  }

  /// Every writable byte beside inputs and outputs bound elsewhere: arenas, states, kernels' heap.
  [[nodiscard]] size_t WritableBytes() const {
    size_t bytes = tenon_plan_state_bytes(plan_) + tenon_session_state_size(plan_) +
                   tenon_plan_packed_bytes(plan_) + tenon_session_packed_bytes(session_);
    for (size_t i = 0; i < tenon_plan_arena_count(plan_); ++i) {
      tenon_arena_info arena;
      REQUIRE(tenon_plan_arena(plan_, i, &arena) == TENON_OK);
      bytes += arena.bytes;
    }
    return bytes;
  }

  /// The outputs of one run; without inputs given, of whatever the memory holds.
  Arrays Run(const Arrays& inputs) {
    for (size_t i = 0; i < tenon_plan_input_count(plan_); ++i) {
      void* data = PortMemory(true, i);
      if (i < inputs.size()) std::memcpy(data, inputs[i].data(), inputs[i].size());
    }
    std::vector<const std::byte*> results;
    for (size_t i = 0; i < tenon_plan_output_count(plan_); ++i) {
      results.push_back(static_cast<const std::byte*>(PortMemory(false, i)));
    }
    const tenon_status status = tenon_session_run(session_, &error_);
    REQUIRE_MESSAGE(status == TENON_OK, error_.message);
    Arrays outputs;
    for (size_t i = 0; i < results.size(); ++i) {
      tenon_port_info info;
      REQUIRE(tenon_plan_output(plan_, i, &info) == TENON_OK);
      outputs.emplace_back(results[i], results[i] + info.bytes);
    }
    for (const GuardedMemory& block : blocks_) CHECK(block.Intact());
    return outputs;
  }

 private:
  GuardedMemory& Guard(size_t bytes, size_t alignment) {
    return blocks_.emplace_back(bytes, alignment, setting_.edge);
  }

  void OpenSession() {
    std::vector<tenon_memory> arenas;
    for (size_t i = 0; i < tenon_plan_arena_count(plan_); ++i) {
      tenon_arena_info arena;
      REQUIRE(tenon_plan_arena(plan_, i, &arena) == TENON_OK);
      arenas.push_back({Guard(arena.bytes, arena.alignment).data(), arena.bytes});
    }
    GuardedMemory& state = Guard(tenon_session_state_size(plan_), 16);
    const tenon_status status = tenon_session_create(
        plan_, state.data(), state.size(), arenas.data(), arenas.size(), &session_, &error_);
    REQUIRE_MESSAGE(status == TENON_OK, error_.message);
  }

  void* PortMemory(bool input, size_t index) {
    tenon_port_info info;
    const tenon_status known =
        input ? tenon_plan_input(plan_, index, &info) : tenon_plan_output(plan_, index, &info);
    REQUIRE(known == TENON_OK);
    if (!setting_.bound) {
      return input ? tenon_session_input(session_, index)
                   : const_cast<void*>(tenon_session_output(session_, index));
    }
    GuardedMemory& memory = Guard(info.bytes, tenon_dtype_bytes(info.dtype));
    const tenon_status status =
        input ? tenon_session_bind_input(session_, index, memory.data(), info.bytes, &error_)
              : tenon_session_bind_output(session_, index, memory.data(), info.bytes, &error_);
    REQUIRE_MESSAGE(status == TENON_OK, error_.message);
    return memory.data();
  }

  Setting setting_;
  std::deque<GuardedMemory> blocks_;
  GuardedMemory& file_;
  tenon_error error_{};
  tenon_plan* plan_ = nullptr;
  tenon_session* session_ = nullptr;
};

/// Seeded values for the inputs of a plan: f32 in [0, 1), zeros for other dtypes (indices, say).
Arrays InputsOf(const std::vector<uint8_t>& plan) {
  const LoadedForTest loaded(plan);
  Arrays inputs;
  uint32_t random = 1;
  for (size_t i = 0; i < tenon_plan_input_count(loaded.get()); ++i) {
    tenon_port_info info;
    REQUIRE(tenon_plan_input(loaded.get(), i, &info) == TENON_OK);
    std::vector<std::byte>& bytes = inputs.emplace_back(info.bytes);
    for (size_t at = 0; info.dtype == TENON_F32 && at < bytes.size(); at += sizeof(float)) {
      random = random * 1664525U + 1013904223U;
      const float value = static_cast<float>(random >> 8U) / 16777216.0F;
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
  }
  return inputs;
}

/// Every way to run the plan gives, inside its guards, what it gives without.
void RunGuarded(const std::vector<uint8_t>& plan, bool portable_too) {
  const Arrays inputs = InputsOf(plan);
  const RunResult expected = RunPlan(plan, inputs);
  REQUIRE_MESSAGE(expected.error.empty(), expected.error);
  for (const GuardedEdge edge : {GuardedEdge::kEnd, GuardedEdge::kBegin}) {
    for (const bool bound : {false, true}) {
      GuardedRun run(plan, {/*portable=*/false, 1, bound, edge});
      CHECK(run.Run(inputs) == expected.outputs);
    }
    GuardedRun threads(plan, {/*portable=*/false, 2, true, edge});
    CHECK(threads.Run(inputs).size() == expected.outputs.size());
    if (!portable_too) continue;
    GuardedRun portable(plan, {/*portable=*/true, 1, true, edge});
    const Arrays outputs = portable.Run(inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      CHECK(RelativeDifference(outputs[i], expected.outputs[i]) < 1e-3);
    }
  }
}

/// Empty, with a message, for a model that the converter refuses.
std::vector<uint8_t> PlanOfModel(const std::filesystem::path& model) {
  converter::ConvertOptions options = OptionsFor();
  options.model = model;
  options.import.batch = 1;
  options.compile.order.mode = converter::OrderMode::kSource;
  auto conversion = converter::Convert(options);
  if (conversion.ok()) return std::move(conversion->plan);
  MESSAGE(model.filename().string() << ": " << conversion.error().message);
  return {};
}

TEST_CASE("Guard pages: a small graph stays inside what its plan states, on every kernel") {
  RunGuarded(PlanOf(kSmallModel, /*portable=*/false), true);
  RunGuarded(PlanOf(kSmallModel, /*portable=*/true), true);
}

TEST_CASE("Guard pages: what is kept from run to run stays inside, at every step") {
  // Windows of 5 that move by 2, one in its place, and a sum of all runs: sizes that fill no
  // vector.
  const std::vector<uint8_t> plan = PlanOf(R"(graph stream
input %x: f32[1,3,2,1]
input %v: f32[2,3]
input %s: f32[1,3,3,1]
input %a: f32[1,3,1,1]
input %r: f32[3,3]
%j = concat(%s, %x) {axis=2}
%t = slice(%j) {begins=[0,0,2,0], sizes=[1,3,3,1], steps=[1,1,1,1]}
const %w: f32[3,3,5,1] = random(1)
%c = conv(%j, %w)
%n = binary(%c, %a)
%y = unary(%n) {function=tanh}
%p = unary(%v) {function=relu}
%m = concat(%r, %p) {axis=0}
%q = slice(%m) {begins=[2,0], sizes=[3,3], steps=[1,1]}
%z = reduce(%m) {function=sum, axes_mask=1}
output %y
output %z
output %t as "window"
output %n as "sum"
output %q
state "s" = "window" from random(2)
state "a" = "sum"
state "r" = "q" from random(3)
)",
                                           /*portable=*/false);
  CHECK(WindowsInPlace(plan) == 1);  // r; s has several channels before its frames
  RunGuarded(plan, true);
  const Arrays inputs = InputsOf(plan);
  GuardedRun at_end(plan, {/*portable=*/false, 1, true, GuardedEdge::kEnd});
  GuardedRun at_begin(plan, {/*portable=*/false, 1, false, GuardedEdge::kBegin});
  Arrays last;
  for (int step = 0; step < 4; ++step) {
    const Arrays outputs = at_end.Run(inputs);
    CHECK(outputs == at_begin.Run(inputs));
    CHECK(outputs != last);  // the state has moved on
    last = outputs;
  }
}

TEST_CASE("Guard pages: patches of convolutions stay inside, whatever their channels") {
  for (const int channels : {3, 5, 16, 24}) {
    for (const int outputs : {7, 16, 40}) {
      CAPTURE(channels);
      CAPTURE(outputs);
      PatchedConv shape;
      shape.patches = 3;
      shape.rows = 5;
      shape.channels = channels;
      shape.outputs = outputs;
      shape.width = 9;
      RunGuarded(PlanOf(PatchedConvText(shape), /*portable=*/false), true);
    }
  }
}

TEST_CASE("Guard pages: convolutions of few outputs, and windows read by rows, stay inside") {
  for (const int channels : {3, 5, 8}) {
    for (const int columns : {23, 24, 67}) {
      CAPTURE(channels);
      CAPTURE(columns);
      const std::vector<uint8_t> plan = PlanOf(fmt::format(R"(graph few_outputs
input %x: f32[2,{0},21,{1}]
input %sound: f32[1,1,1,{2}]
const %w: f32[7,{0},5,5] = random(1)
const %v: f32[8,7,7,3] = random(2)
const %u: f32[20,1,1,37] = random(3)
%a = conv(%x, %w) {{pads=[2,2,2,2], activation=relu}}
%y = conv(%a, %v) {{pads=[3,1,3,1]}}
%z = conv(%sound, %u) {{strides=[1,11]}}
output %y
output %z
)",
                                                           channels, columns, 100 + columns),
                                               /*portable=*/false);
      RunGuarded(plan, true);
      const std::string_view names(reinterpret_cast<const char*>(plan.data()), plan.size());
      CHECK(names.find("cpu.conv.vector_pixels") != std::string_view::npos);
    }
  }
}

TEST_CASE("Guard pages: what the converter split to a limit stays inside, and within it") {
  const auto graph = converter::ParseGraph(R"(input %x: f32[1,2,24,24]
const %w1: f32[16,2,3,3] = random(1)
const %w2: f32[16,16,3,3] = random(2)
const %w3: f32[2,16,3,3] = random(3)
%a = conv(%x, %w1) {pads=[1,1,1,1]}
%b = conv(%a, %w2) {pads=[1,1,1,1]}
%y = conv(%b, %w3) {pads=[1,1,1,1]}
output %y
)");
  REQUIRE(graph.ok());
  for (const int64_t limit : {40'000, 30'000}) {
    CAPTURE(limit);
    converter::ConvertOptions options = OptionsFor();
    options.board.FindSpace("ram")->bytes = limit;
    const auto conversion = converter::ConvertGraph(*graph, options);
    REQUIRE(conversion.ok());
    CHECK(conversion->chain_splits.chains.size() == 1);
    RunGuarded(conversion->plan, true);
    const LoadedForTest plan(conversion->plan);
    tenon_arena_info arena;
    REQUIRE(tenon_plan_arena(plan.get(), 0, &arena) == TENON_OK);
    CHECK(static_cast<int64_t>(arena.bytes + tenon_plan_packed_bytes(plan.get())) <= limit);
  }
}

TEST_CASE("Guard pages: the digits model stays inside") {
  const char* source = std::getenv("TENON_SOURCE_DIR");
  REQUIRE(source != nullptr);
  RunGuarded(PlanOfModel(std::filesystem::path(source) / "sdk/models/digits/digits.onnx"), true);
}

TEST_CASE(
    "Writable bytes: `tenon bench` reports what the guarded blocks and the kernels' heap hold") {
  const char* binaries = std::getenv("TENON_BINARY_DIR");
  REQUIRE(binaries != nullptr);
  const std::filesystem::path tool = std::filesystem::path(binaries) / "bin" / "tenon";
  const std::vector<uint8_t> plan = PlanOf(kSmallModel, /*portable=*/false);
  size_t expected = GuardedRun(plan, Setting()).WritableBytes();
  for (const auto& input : InputsOf(plan)) expected += input.size();  // which bench binds
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("tenon_guard_{}", getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "p.tenon", std::ios::binary)
      .write(reinterpret_cast<const char*>(plan.data()), static_cast<std::streamsize>(plan.size()));
  const std::string command =
      fmt::format("'{}' bench '{}' --iterations 1 --warmup 0 --threads 1 --json '{}' > /dev/null",
                  tool.string(), (folder / "p.tenon").string(), (folder / "b.json").string());
  const int status = std::system(command.c_str());
  nlohmann::json json;
  if (status == 0) json = nlohmann::json::parse(std::ifstream(folder / "b.json"));
  std::filesystem::remove_all(folder);
  REQUIRE(status == 0);
  size_t reported = 0;
  for (const auto& [space, bytes] : json["memory_bytes"].items()) reported += bytes.get<size_t>();
  CHECK(reported == expected);
}

TEST_CASE("Guard pages: every shared model stays inside" * doctest::skip()) {
  constexpr const char* kModels[] = {
      "fastestdet_352/model.onnx",
      "googlenet_random/model.onnx",
      "kwt1_transformer/model.onnx",
      "mlperf_ad01_autoencoder/model_fp32.onnx",
      "mlperf_ad01_autoencoder/model_qdq.onnx",
      "mlperf_kws_dscnn/model_fp32.onnx",
      "mlperf_kws_dscnn/model_qdq.onnx",
      "mlperf_resnet8_cifar10/model_fp32.onnx",
      "mlperf_resnet8_cifar10/model_qdq.onnx",
      "mnist_cnn/mnist.onnx",
      "mobilenet_v2_224/model_fp32.onnx",
      "mobilenet_v2_224/model_qdq.onnx",
      "resnet20_cifar10/model.onnx",
      "shufflenet_v2_qlinear_int8/model.onnx",
      "squeezenet1.1/model_fp16.onnx",
      "squeezenet1.1/model_fp32.onnx",
      "super_resolution_espcn/model.onnx",
      "ultraface_rfb320/model.onnx",
      "ultraface_rfb320/model_simplified.onnx",
  };
  if (SharedPath("models").empty()) return;
  size_t run = 0;
  for (const char* name : kModels) {
    CAPTURE(name);
    const std::filesystem::path model = SharedPath(std::string("models/") + name);
    if (model.empty()) continue;
    const std::vector<uint8_t> plan = PlanOfModel(model);
    if (plan.empty()) continue;
    RunGuarded(plan, false);
    ++run;
  }
  CHECK(run > 0);
}

}  // namespace
}  // namespace tenon::test
