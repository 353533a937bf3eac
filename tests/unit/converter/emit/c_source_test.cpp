#include "converter/emit/c_source.hpp"

#include <doctest/doctest.h>

#include "converter/emit/emit_plan.hpp"
#include "converter/emit/firmware_plan.hpp"
#include "converter/ir/text.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/map/kernel_choice.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kText = R"(graph g
input %x as "da\"ta": f32[3]
const %c: f32[3] = [1, 2, 3]
%a = binary(%x, %c) "first"
%b = unary(%a) {function=relu} "second"
%y = binary(%b, %c) {function=mul} "third"
output %y as "prob"
)";

struct Placed {
  Graph graph;
  Locations locations;
  ArenaPlan arena;
};

Placed Place(const char* kernel = nullptr) {
  auto graph = ParseGraph(kText);
  REQUIRE(graph.ok());
  for (const OpId id : graph->OpOrder()) UsePortableKernel(graph->MutableOp(id));
  PassReport report;
  auto locations = AssignLocations(*graph, report);
  REQUIRE(locations.ok());
  ArenaPlan arena = PlanArena(*graph, *locations, ArenaOptions());
  // Only now: the kernel need not be one that is known.
  for (const OpId id : graph->OpOrder()) {
    if (kernel != nullptr) graph->MutableOp(id).kernel = kernel;
  }
  return {std::move(*graph), std::move(*locations), std::move(arena)};
}

std::vector<uint8_t> PlanOf(const Placed& placed, const EmitOptions& options = {}) {
  auto plan = EmitPlan(placed.graph, placed.locations, placed.arena, options);
  if (!plan.ok()) FAIL(plan.error().message);
  return std::move(*plan);
}

Result<CSource> Source(const std::vector<uint8_t>& plan, const char* plan_file = "") {
  CSourceOptions options;
  options.identifier = "net";
  options.header = "net.h";
  options.plan_file = plan_file;
  return EmitCSource(plan, options);
}

bool Has(const std::string& text, const std::string& part) {
  const bool has = text.find(part) != std::string::npos;
  if (!has) MESSAGE("no '" << part << "' in:\n" << text);
  return has;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("EmitCSource: the same plan gives the same text") {
  const std::vector<uint8_t> plan = PlanOf(Place());
  CHECK(Source(plan)->source == Source(plan)->source);
  CHECK(Source(plan)->header == Source(plan)->header);
}

TEST_CASE("EmitCSource: the kernels that ops name stand in the table once, in their order") {
  const auto text = Source(PlanOf(Place()));
  REQUIRE(text.ok());
  CHECK(Has(text->source,
            "static const tenon_kernel* const kernels[] = {\n"
            "    &tenon_kernel_cpu_binary_portable,\n"
            "    &tenon_kernel_cpu_unary_portable,\n"
            "};\n"));
  CHECK(Count(text->source, "&tenon_kernel_") == 2);
}

TEST_CASE("EmitCSource: every byte of the plan stands in the array") {
  const std::vector<uint8_t> plan = PlanOf(Place());
  const auto text = Source(plan);
  REQUIRE(text.ok());
  std::vector<uint8_t> read;
  const std::string& source = text->source;
  for (size_t at = source.find("0x"); at != std::string::npos; at = source.find("0x", at + 2)) {
    read.push_back(static_cast<uint8_t>(std::stoi(source.substr(at + 2, 2), nullptr, 16)));
  }
  CHECK(read == plan);
  CHECK(Has(text->header, fmt::format("#define NET_PLAN_BYTES {}\n", plan.size())));
}

TEST_CASE("EmitCSource: the header says what memory the plan wants and how it is aligned") {
  EmitOptions options;
  options.memory_space = "sram";
  options.section_alignment = 128;
  const auto text = Source(PlanOf(Place(), options));
  REQUIRE(text.ok());
  CHECK(Has(text->header, "#define NET_PLAN_ALIGNMENT 128\n"));
  CHECK(Has(text->header, "#define NET_ARENA_COUNT 1\n"));
  CHECK(Has(text->header, "#define NET_ARENA_0_SPACE \"sram\"\n"));
  CHECK(Has(text->header, "#define NET_STATE_BYTES "));
  CHECK(Has(text->header, "#define NET_SCRATCH_BYTES "));
}

TEST_CASE("EmitCSource: the header describes inputs and outputs, whatever their names") {
  const auto text = Source(PlanOf(Place()));
  REQUIRE(text.ok());
  CHECK(Has(text->header, "#define NET_INPUT_0_NAME \"da\\\"ta\"\n"));
  CHECK(Has(text->header, "#define NET_INPUT_0_TYPE float\n"));
  CHECK(Has(text->header, "#define NET_INPUT_0_ELEMENTS 3\n#define NET_INPUT_0_BYTES 12\n"));
  CHECK(Has(text->header, "#define NET_OUTPUT_0_NAME \"prob\"\n"));
  CHECK(!Has(text->header, "SCALE"));
}

TEST_CASE("EmitCSource: for the assembler the plan stays in its file") {
  const std::vector<uint8_t> plan = PlanOf(Place());
  const auto text = Source(plan, "net.tenon");
  REQUIRE(text.ok());
  CHECK(Has(text->source, "#define NET_PLAN_FILE \"net.tenon\"\n"));
  CHECK(Has(text->source, fmt::format(".incbin NET_PLAN_FILE, 0, {}\n", plan.size())));
  CHECK(Has(text->source, "  ADDRESS tenon_kernel_cpu_binary_portable\n"));
  CHECK(text->header == Source(plan)->header);
}

TEST_CASE("EmitCSource: refuses several programs, with what to do") {
  const Placed placed = Place();
  ProgramToEmit program;
  program.name = "one";
  program.graph = &placed.graph;
  program.locations = &placed.locations;
  program.arena = &placed.arena;
  ProgramToEmit second = program;
  second.name = "two";
  const auto plan = EmitPlan({program, second}, EmitOptions());
  REQUIRE(plan.ok());
  const auto text = Source(*plan);
  REQUIRE(!text.ok());
  CHECK(text.error().kind == ErrorKind::kUsage);
  CHECK(Has(text.error().message, "the plan holds 2: convert without --parallel"));
}

TEST_CASE("EmitCSource: refuses kernels that need more than firmware has") {
  const auto text = Source(PlanOf(Place("cpu.binary.vector")));
  REQUIRE(!text.ok());
  CHECK(text.error().kind == ErrorKind::kUsage);
  CHECK(Has(text.error().message, "op 'first' has kernel 'cpu.binary.vector'"));
}

TEST_CASE("EmitCSource: refuses what is no plan") {
  CHECK(Source({1, 2, 3}).error().kind == ErrorKind::kInternal);
}

TEST_CASE("KernelLinkName: only kernels for firmware have one") {
  CHECK(KernelLinkName("cpu.quantized_conv.helium") == "tenon_kernel_cpu_quantized_conv_helium");
  CHECK(KernelLinkName("cpu.quantized_conv.dsp_depthwise") ==
        "tenon_kernel_cpu_quantized_conv_dsp_depthwise");
  CHECK(KernelLinkName("cpu.conv.portable_in_place") == "tenon_kernel_cpu_conv_portable_in_place");
  CHECK(KernelLinkName("cpu.conv.onednn").empty());
  CHECK(KernelLinkName("cpu.conv.dspish").empty());
  CHECK(KernelLinkName("portable").empty());
}

}  // namespace
}  // namespace tenon::converter
