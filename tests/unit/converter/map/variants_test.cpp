#include "converter/map/variants.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "converter/ir/text.hpp"
#include "converter/map/kernel_choice.hpp"
#include "tests/support/twin_backend.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kTwoConvs = R"(graph g
input %x: f32[1,2,5,5]
const %w: f32[2,2,3,3] = random(1)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%b = conv(%a, %w) {pads=[1,1,1,1]}
%y = unary(%b) {function=relu}
output %y
)";

int TwoVariants(const OpCall&, const char** names, int most) {
  if (most > 0) names[0] = "narrow";
  if (most > 1) names[1] = "wide";
  return std::min(most, 2);
}

void SharedKey(const OpCall& call, PackingKey* key) { key->AddTensor(call.Input(1)); }
size_t HundredBytes(const OpCall&) { return 100; }

/// The twin, whose convolutions have variants and share packed weights.
std::vector<BackendCaps> CpuAndVariedTwin(std::vector<KernelCaps>& kernels) {
  const BackendCaps twin = test::TwinBackend();
  kernels.assign(twin.kernels.begin(), twin.kernels.end());
  for (KernelCaps& caps : kernels) {
    if (caps.kind != OpKind::kConv) continue;
    caps.variants = TwoVariants;
    caps.packed_bytes = HundredBytes;
    caps.packing_key = SharedKey;
  }
  return {cpu::CpuCaps(), {"twin", {kernels.data(), kernels.size()}}};
}

/// The second convolution alone; the unit is asked for, too.
class SecondOnly : public VariantChoice {
 public:
  explicit SecondOnly(std::string variant) : variant_(std::move(variant)) {}
  [[nodiscard]] std::string VariantOf(const Graph&, const Op& op, const Unit& unit) const override {
    CHECK(unit.name == "twin");
    return op.name == "b" ? variant_ : "";
  }

 private:
  std::string variant_;
};

class ChosenKernels {
 public:
  explicit ChosenKernels(const VariantChoice* variants) : board_(test::TwinBoard()) {
    KernelChoiceOptions options;
    options.board = &board_;
    options.backends = CpuAndVariedTwin(kernels_);
    options.variants = variants;
    auto parsed = ParseGraph(kTwoConvs);
    REQUIRE_MESSAGE(parsed.ok(), parsed.error().message);
    graph = std::move(*parsed);
    auto mapped = ChooseKernels(graph, options);
    REQUIRE_MESSAGE(mapped.ok(), mapped.error().message);
    mapping = std::move(*mapped);
  }
  [[nodiscard]] const Op& op(const char* output) const {
    return graph.op(graph.tensor(graph.FindTensor(output)).producer);
  }

  Graph graph;
  std::vector<MappedOp> mapping;

 private:
  Board board_;
  std::vector<KernelCaps> kernels_;
};

TEST_CASE("Variants: a kernel's name says the one that was chosen, and the kernel stays the same") {
  const SecondOnly second("wide");
  const ChosenKernels chosen(&second);
  CHECK(chosen.op("a").kernel == "twin.conv.portable");
  CHECK(chosen.op("b").kernel == "twin.conv.portable:wide");
  CHECK(chosen.mapping[1].kernel == "twin.conv.portable:wide");
  CHECK(&CapsOf(chosen.op("a")) == &CapsOf(chosen.op("b")));
  CHECK(CapsOf(chosen.op("b")).id == std::string("twin.conv.portable"));
}

TEST_CASE("Variants: one that the kernel does not have is not named in the plan") {
  for (const char* unknown : {"", "wider", "wid", "narrow:wide"}) {
    const SecondOnly second(unknown);
    const ChosenKernels chosen(&second);
    CHECK(chosen.op("b").kernel == "twin.conv.portable");
  }
}

TEST_CASE("Variants: by place, ops that have fewer run by default") {
  const VariantAt first(0);
  const VariantAt second(1);
  const VariantAt third(2);
  CHECK(ChosenKernels(&first).op("a").kernel == "twin.conv.portable:narrow");
  CHECK(ChosenKernels(&second).op("a").kernel == "twin.conv.portable:wide");
  CHECK(ChosenKernels(&second).op("y").kernel == "twin.unary.portable");
  CHECK(ChosenKernels(&third).op("a").kernel == "twin.conv.portable");
}

TEST_CASE("Variants: weights that are packed in two ways are held twice") {
  const SecondOnly second("wide");
  const VariantAt same(0);
  CHECK(PackedBytes(ChosenKernels(nullptr).graph) == 100);
  CHECK(PackedBytes(ChosenKernels(&same).graph) == 100);
  CHECK(PackedBytes(ChosenKernels(&second).graph) == 200);
}

TEST_CASE("Variants: text forms of graphs keep them") {
  const auto graph = ParseGraph(
      "graph g\ninput %x: f32[4]\n"
      "%y = unary(%x) {function=relu} @twin/twin.unary.portable:wide\noutput %y\n");
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  CHECK(graph->op(graph->OpOrder()[0]).kernel == "twin.unary.portable:wide");
  const std::string text = PrintGraph(*graph);
  CHECK(text.find("@twin/twin.unary.portable:wide") != std::string::npos);
  const auto parsed = ParseGraph(text);
  REQUIRE_MESSAGE(parsed.ok(), parsed.error().message);
  CHECK(PrintGraph(*parsed) == text);
}

}  // namespace
}  // namespace tenon::converter
