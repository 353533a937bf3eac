// Plans whose kernels are named with variants, on the OpenCL device of this machine; and how the
// fastest ones are found there.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "backends/opencl/caps/opencl_caps.hpp"
#include "converter/ir/text.hpp"
#include "converter/measure/tune.hpp"
#include "tenon/tenon.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::test {
namespace {

using converter::Graph;
using converter::PlanToProfile;
using converter::VariantChoice;

/// Two convolutions of the same weights, one that Winograd's way takes too, and a product.
constexpr const char* kGraph = R"(graph g
input %x: f32[1,12,9,10]
const %w: f32[12,12,1,1] = random(1)
const %v: f32[20,12,3,3] = random(2)
const %m: f32[20,33] = random(3)
%a = conv(%x, %w)
%b = conv(%a, %w)
%c = conv(%b, %v) {pads=[1,1,1,1]}
%d = reduce(%c) {function=mean, axes_mask=12, keep_dims=0}
%e = matmul(%d, %m)
output %e
)";

Graph Parsed() {
  auto graph = converter::ParseGraph(kGraph);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  return std::move(*graph);
}

converter::ConvertOptions OnDevice(std::shared_ptr<const VariantChoice> variants) {
  converter::ConvertOptions options = OptionsFor("x86-64-opencl");
  options.board.priorities = {{"opencl", "*", 1}, {"cpu", "*", 2}};
  options.variants = std::move(variants);
  return options;
}

std::vector<uint8_t> PlanWith(const converter::ConvertOptions& options) {
  auto conversion = converter::ConvertGraph(Parsed(), options);
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  return conversion->plan;
}

std::vector<std::byte> OutputOf(const std::vector<uint8_t>& plan) {
  const RunResult run = RunPlan(plan, RandomInputs(Parsed(), 5));
  REQUIRE_MESSAGE(run.error.empty(), run.error);
  return run.outputs[0];
}

/// By op: the kernel that the plan names.
std::vector<std::string> KernelsOf(const std::vector<uint8_t>& plan) {
  const auto tables = converter::OpenedPlan::Open({"plan", false, plan});
  REQUIRE(tables.ok());
  const ProgramView program = tables->view().program(0);
  std::vector<std::string> kernels;
  for (size_t i = 0; i < program.op_count(); ++i) {
    kernels.emplace_back(tables->view().kernel(program.op(i).kernel));
  }
  return kernels;
}

size_t CountVariants(const std::vector<std::string>& kernels, const std::string& variant) {
  return static_cast<size_t>(
      std::count_if(kernels.begin(), kernels.end(), [&](const std::string& kernel) {
        const size_t colon = kernel.find(':');
        return colon != std::string::npos &&
               (variant.empty() || kernel.substr(colon + 1) == variant);
      }));
}

/// By the name of the op, whatever kernels say.
class Named : public VariantChoice {
 public:
  explicit Named(std::map<std::string, std::string> variants) : variants_(std::move(variants)) {}
  [[nodiscard]] std::string VariantOf(const Graph&, const converter::Op& op,
                                      const converter::Unit&) const override {
    const auto found = variants_.find(op.name);
    return found == variants_.end() ? "" : found->second;
  }

 private:
  std::map<std::string, std::string> variants_;
};

TEST_CASE("Tuned plans: every variant gives the default's result") {
  const std::vector<std::byte> expected = OutputOf(PlanWith(OnDevice(nullptr)));
  size_t places = 0;
  for (;; ++places) {
    CAPTURE(places);
    const auto plan = PlanWith(OnDevice(std::make_shared<converter::VariantAt>(places)));
    const size_t varied = CountVariants(KernelsOf(plan), "");
    if (varied == 0) break;
    CHECK(varied >= 4);
    CHECK(RelativeDifference(OutputOf(plan), expected) < 1e-4);
  }
  CHECK(places > 3);
}

/// Heap bytes of the weights, packed by kernels.
size_t PackedBytesOf(const std::vector<uint8_t>& bytes) {
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("tuned-plan-{}.tenon", getpid());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const auto plan = tenon::Plan::Open(path);
  std::filesystem::remove(path);
  REQUIRE_MESSAGE(plan, plan.error().message);
  return plan->PackedBytes();
}

std::vector<uint8_t> PlanNaming(const char* a, const char* b) {
  return PlanWith(
      OnDevice(std::make_shared<Named>(std::map<std::string, std::string>{{"a", a}, {"b", b}})));
}

TEST_CASE("Tuned plans: ops of the same weights share them packed, if for the same variant") {
  const std::vector<std::byte> expected = OutputOf(PlanWith(OnDevice(nullptr)));
  const auto same = PlanNaming("7x32", "7x32");
  const auto different = PlanNaming("7x8", "7x32");
  CHECK(RelativeDifference(OutputOf(same), expected) < 1e-4);
  CHECK(RelativeDifference(OutputOf(different), expected) < 1e-4);
  CHECK(PackedBytesOf(different) > PackedBytesOf(same) + 12 * 12 * sizeof(float));
}

int UnknownVariant(const OpCall&, const char** names, int most) {
  if (most > 0) names[0] = "9x9";
  return std::min(most, 1);
}

TEST_CASE("Tuned plans: a variant that the runtime does not know changes nothing") {
  const BackendCaps known = opencl::OpenclCaps();
  std::vector<KernelCaps> kernels(known.kernels.begin(), known.kernels.end());
  for (KernelCaps& caps : kernels) caps.variants = UnknownVariant;
  converter::ConvertOptions options = OnDevice(std::make_shared<converter::VariantAt>(0));
  options.compile.kernels.backends = {cpu::CpuCaps(), known};
  options.compile.kernels.backends[1].kernels = {kernels.data(), kernels.size()};
  const auto plan = PlanWith(options);
  CHECK(CountVariants(KernelsOf(plan), "9x9") >= 4);
  CHECK(OutputOf(plan) == OutputOf(PlanWith(OnDevice(nullptr))));
}

TEST_CASE("Tuning: the fastest variants are found on the device, and conversions use them") {
  const converter::Board board = OnDevice(nullptr).board;
  std::vector<PlanToProfile> plans = {{"default", false, PlanWith(OnDevice(nullptr))}};
  for (size_t place = 0; place < 2; ++place) {
    plans.push_back(
        {"varied", false, PlanWith(OnDevice(std::make_shared<converter::VariantAt>(place)))});
  }
  converter::TuneOptions options;
  options.iterations = 3;
  options.share = 1e9;  // of such small ops any variant will do
  size_t turns = 0;
  options.progress = [&](const std::string&, int, int) { ++turns; };
  const auto tuning = converter::Tune(board, plans, options);
  REQUIRE_MESSAGE(tuning.ok(), tuning.error().message);
  CHECK(turns == 9);
  CHECK(tuning->rows().size() == 3);  // two of the convolutions are equal
  const std::set<std::string> kernels = [&] {
    std::set<std::string> names;
    for (const converter::TunedOp& row : tuning->rows()) {
      CHECK(row.unit == "opencl");
      CHECK(row.ms > 0);
      CHECK(row.default_ms > 0);
      names.insert(row.kernel + ":" + row.variant);
    }
    return names;
  }();
  const auto profile = std::make_shared<converter::Profile>();
  profile->board = board.name;
  profile->tuning = *tuning;
  converter::ConvertOptions tuned = OnDevice(nullptr);
  tuned.profile = profile;
  const auto plan = PlanWith(tuned);
  const std::vector<std::string> used = KernelsOf(plan);
  CHECK(CountVariants(used, "") >= tuning->rows().size());
  for (const std::string& kernel : kernels) {
    CHECK_MESSAGE(std::count(used.begin(), used.end(), kernel) > 0, kernel);
  }
}

TEST_CASE("Tuning: variants that are not faster by the share asked for are left alone") {
  const auto varied = PlanWith(OnDevice(std::make_shared<converter::VariantAt>(0)));
  converter::TuneOptions options;
  options.iterations = 2;
  options.share = 0;
  const auto tuning = converter::Tune(
      OnDevice(nullptr).board,
      {{"default", false, PlanWith(OnDevice(nullptr))}, {"varied", false, varied}}, options);
  REQUIRE_MESSAGE(tuning.ok(), tuning.error().message);
  CHECK(tuning->rows().empty());
  CHECK(converter::HasVariants({"varied", false, varied}));
  CHECK_FALSE(converter::HasVariants({"default", false, PlanWith(OnDevice(nullptr))}));
}

}  // namespace
}  // namespace tenon::test
