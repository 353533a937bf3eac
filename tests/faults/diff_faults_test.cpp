// Faults in kernels and requantisation, one at a time: `tenon diff` names the op that has it.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "converter/ir/text.hpp"
#include "sdk/tools/diff_compare.hpp"
#include "sdk/tools/plan_json.hpp"
#include "sdk/tools/tool.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/faulty_backend.hpp"

namespace tenon::test {
namespace {

constexpr double kSnr = 80;  // the default of the command
constexpr int kFaultsEach = 24;

constexpr const char* kNet = R"(graph net
input %x as "x": f32[1,3,12,12]
const %w1: f32[8,3,3,3] = random(1)
const %b1: f32[8] = random(2)
const %wd: f32[8,1,3,3] = random(3)
const %bd: f32[8] = random(4)
const %w2: f32[8,8,1,1] = random(5)
const %b2: f32[8] = random(6)
const %w3: f32[16,16,3,3] = random(7)
const %b3: f32[16] = random(8)
const %m: f32[16,10] = random(9)
%c1 = conv(%x, %w1, %b1) {pads=[1,1,1,1]}
%r1 = unary(%c1) {function=relu}
%d = conv(%r1, %wd, %bd) {group=8, pads=[1,1,1,1]}
%p = max_pool(%d) {kernel=[2,2], strides=[2,2]}
%c2 = conv(%p, %w2, %b2)
%a = binary(%p, %c2) {function=add}
%j = concat(%a, %c2) {axis=1}
%c3 = conv(%j, %w3, %b3) {pads=[1,1,1,1]}
%r3 = unary(%c3) {function=relu}
%g = reduce(%r3) {function=mean, axes_mask=12, keep_dims=0}
%y = matmul(%g, %m)
%s = softmax(%y) {axis=1}
output %s as "s"
)";

converter::CalibrationArray Samples(const converter::Graph& graph) {
  constexpr int kSamples = 8;
  converter::CalibrationArray array{"x", DType::kF32, {kSamples, 3, 12, 12}, {}};
  for (uint64_t seed = 1; seed <= kSamples; ++seed) {
    const auto sample = RandomInputs(graph, seed);
    array.bytes.insert(array.bytes.end(), sample[0].begin(), sample[0].end());
  }
  return array;
}

/// A plan in a file of its own, gone at the end.
class PlanFile {
 public:
  PlanFile(const char* board, bool quantized, bool on_device) {
    auto graph = converter::ParseGraph(kNet);
    REQUIRE_MESSAGE(graph.ok(), graph.error().message);
    converter::ConvertOptions options = OptionsFor(board);
    if (on_device) options.compile.kernels.pins = *converter::ParsePins("*=opencl");
    if (quantized) {
      options.quantize.emplace();
      options.quantize->arrays = {Samples(*graph)};
      options.quantize->goal.decibel = 10;
    }
    auto conversion = converter::ConvertGraph(std::move(*graph), options);
    REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
    const auto* data = reinterpret_cast<const char*>(conversion->plan.data());
    std::ofstream(path_, std::ios::binary)
        .write(data, static_cast<std::streamsize>(conversion->plan.size()));
  }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;
  ~PlanFile() { std::filesystem::remove(path_); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ =
      (std::filesystem::temp_directory_path() / fmt::format("tenon_faults_{}.tenon", getpid()))
          .string();
};

/// What is counted over all faults.
struct Score {
  int injected = 0;
  int named = 0;
  int without_effect = 0;
  std::set<std::string> kinds;  ///< of ops
};

/// One plan, of which `backend` is the one whose kernels have faults.
class Subject {
 public:
  Subject(const std::string& plan, const tenon_backend* backend)
      : plan_(plan), name_(backend->name), faulty_(backend) {
    backends_ = {faulty_.handle()};
    if (name_ != "cpu") backends_.push_back(tenon_backend_cpu());
    right_ = See();
    reference_ = tool::RunAndSee({plan, {}, tool::RunToSee::Kernels::kReference, {}});
    const auto json = tool::ReadPlanJson(plan);
    for (size_t i = 0; i < json["ops"].size(); ++i) {
      if (right_.ops[i].backend != name_) continue;
      const auto output = json["ops"][i]["outputs"][0].get<std::string>();
      for (size_t t = 0; t < json["tensors"].size(); ++t) {
        if (json["tensors"][t]["name"] == output) ops_.push_back({i, static_cast<int32_t>(t)});
      }
    }
  }

  [[nodiscard]] bool IsRightWithoutFaults() const { return Compare(right_).First() == nullptr; }
  [[nodiscard]] size_t ops() const { return ops_.size(); }

  /// A fault that changes what its op writes, and whether that op is named.
  void InjectOne(std::mt19937& random, Score& score) {
    for (;;) {
      const auto [op, tensor] = ops_[random() % ops_.size()];
      const auto kind = static_cast<FaultKind>(random() % kFaultKinds);
      faulty_.Inject({kind, tensor, static_cast<uint32_t>(random())});
      const tool::SeenRun run = See();
      if (!Differs(run, op)) {
        ++score.without_effect;
        continue;
      }
      ++score.injected;
      score.kinds.insert(run.ops[op].kind);
      const tool::Comparison comparison = Compare(run);
      const tool::Row* first = comparison.First();
      const bool is_named = first != nullptr && first->op == op;
      score.named += is_named ? 1 : 0;
      if (!is_named) {
        MESSAGE("fault " << static_cast<int>(kind) << " in " << run.ops[op].kernel << " of "
                         << run.ops[op].name << ": "
                         << (first == nullptr ? "not seen" : first->tensor));
      }
      return;
    }
  }

 private:
  [[nodiscard]] tool::SeenRun See() const {
    return tool::RunAndSee({plan_, {}, tool::RunToSee::Kernels::kPlanned, backends_});
  }
  [[nodiscard]] tool::Comparison Compare(const tool::SeenRun& run) const {
    return tool::CompareAll(run, reference_.tensors, reference_.outputs, kSnr);
  }
  /// Whether the op has not written, bit for bit, what it should.
  [[nodiscard]] bool Differs(const tool::SeenRun& run, size_t op) const {
    for (size_t i = 0; i < run.tensors.size(); ++i) {
      if (run.tensors[i].op == op && run.tensors[i].bytes != right_.tensors[i].bytes) return true;
    }
    return false;
  }

  std::string plan_;
  std::string name_;
  FaultyBackend faulty_;
  std::vector<const tenon_backend*> backends_;
  tool::SeenRun right_;
  tool::SeenRun reference_;
  std::vector<std::pair<size_t, int32_t>> ops_;  ///< of the backend: number, and what it writes
};

void InjectInto(const PlanFile& plan, const tenon_backend* backend, size_t least_ops,
                Score& score) {
  Subject subject(plan.path(), backend);
  REQUIRE(subject.IsRightWithoutFaults());
  REQUIRE(subject.ops() >= least_ops);
  std::mt19937 random(5);
  for (int i = 0; i < kFaultsEach; ++i) subject.InjectOne(random, score);
}

void CheckScore(const Score& score, int expected) {
  MESSAGE(score.named << " of " << score.injected << " faults named, " << score.without_effect
                      << " more changed nothing; " << score.kinds.size() << " kinds of ops");
  CHECK(score.injected == expected);
  CHECK(100 * score.named >= 99 * score.injected);
}

TEST_CASE("diff names the op with the fault: kernels of the CPU, float and quantized") {
  Score score;
  for (const bool quantized : {false, true}) {
    CAPTURE(quantized);
    const PlanFile plan("x86-64", quantized, false);
    for (const tenon_backend* backend : {tenon_backend_cpu(), tenon_backend_cpu_portable()}) {
      InjectInto(plan, backend, 8, score);
    }
  }
  CheckScore(score, 4 * kFaultsEach);
}

TEST_CASE("diff names the op with the fault: inside the segments of an OpenCL device") {
  if (tenon_backend_opencl() == nullptr) return;
  Score score;
  const PlanFile plan("x86-64-opencl", false, true);
  // As a device with memory of its own has it, and as one that shares the host's.
  for (const std::string transfer : {"copy", "none"}) {
    CAPTURE(transfer);
    setenv("TENON_OPENCL_TRANSFER", transfer.c_str(), 1);
    InjectInto(plan, tenon_backend_opencl(), 8, score);
  }
  unsetenv("TENON_OPENCL_TRANSFER");
  CheckScore(score, 2 * kFaultsEach);
}

}  // namespace
}  // namespace tenon::test
