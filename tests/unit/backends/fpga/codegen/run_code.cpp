#include "tests/unit/backends/fpga/codegen/run_code.hpp"

#include <algorithm>
#include <vector>

#include "backends/fpga/codegen/encode_layers.hpp"
#include "backends/fpga/codegen/layers.hpp"
#include "backends/fpga/isa/check_code.hpp"
#include "backends/fpga/isa/interpret.hpp"
#include "tests/unit/backends/fpga/codegen/segment_values.hpp"

namespace tenon::test {
namespace {

std::string RunOne(const MappedGraph& mapped, const converter::TracedSource& traced,
                   const fpga::SegmentCode& code, const Evaluation& values,
                   const fpga::CodeTarget& target) {
  std::vector<std::vector<uint8_t>> blocks;
  for (size_t i = 0; i < traced.roots.size(); ++i) {
    blocks.push_back(BlockBytes(mapped, values, traced, i));
  }
  const std::vector<std::vector<uint8_t>> expected = blocks;
  std::vector<uint8_t> constants = code.constants;
  fpga::isa::Memory memory;
  std::vector<fpga::isa::BaseWindow> windows;
  std::vector<uint8_t> scratch(static_cast<size_t>(code.scratch_bytes));
  for (const auto& relocation : code.relocations) {
    std::vector<uint8_t>& bytes = relocation.block >= 0
                                      ? blocks[static_cast<size_t>(relocation.block)]
                                  : relocation.block == fpga::kScratchBlock ? scratch
                                                                            : constants;
    if (relocation.writes) bytes.assign(bytes.size(), 0x5A);
    memory.bases[relocation.base_register] = {bytes.data(), bytes.size()};
    windows.push_back(
        {static_cast<uint32_t>(relocation.base_register), 0, bytes.size(), relocation.writes});
  }
  const fpga::isa::Parameters parameters = fpga::ParametersOf(target);
  const Status status = fpga::isa::CheckCode({code.descriptors.data(), code.descriptors.size()},
                                             parameters, {windows.data(), windows.size()});
  if (!status.ok()) return std::string("the driver would refuse it: ") + status.message();
  fpga::isa::Chip chip(parameters);
  std::fill(chip.maps.begin(), chip.maps.end(), int8_t{0x33});  // what a start may find there
  const fpga::isa::Outcome outcome =
      fpga::isa::Interpret(code.descriptors.data(), code.descriptors.size(), memory, chip);
  if (outcome.error != fpga::isa::Error::kNone) {
    return "descriptor " + std::to_string(outcome.descriptor) + ": " + outcome.status.message();
  }
  if (constants != code.constants) return "constants were written";
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] != expected[i]) return traced.source.blocks[i].name + " differs";
  }
  return "";
}

}  // namespace

fpga::CodeTarget FullTarget() {
  fpga::CodeTarget target;
  target.map_bytes = 1536 << 10;
  target.weight_bytes = 160 << 10;
  return target;
}

std::string CompareCode(converter::Graph graph, uint64_t seed, const fpga::CodeTarget& target,
                        RunSegments& run) {
  const MappedGraph mapped = MapToAccelerator(std::move(graph));
  if (!mapped.error.empty()) return mapped.error;
  const Evaluation values = EvaluateGraph(mapped.graph, ByteInputs(mapped.graph, seed));
  if (!values.error.empty()) return values.error;
  for (const auto& segment : mapped.segments) {
    const converter::TracedSource traced =
        converter::SourceOf(mapped.graph, mapped.locations, segment);
    const auto code = fpga::GenerateCode(traced.source, target);
    if (!code.ok()) {
      ++run.refused;
      run.reasons.push_back(code.refusal().reason);
      continue;
    }
    ++run.segments;
    run.descriptors += static_cast<int>(code->descriptors.size() / fpga::isa::kDescriptorBytes);
    run.constant_bytes += code->constants.size();
    run.scratch_bytes = std::max(run.scratch_bytes, code->scratch_bytes);
    const std::string difference = RunOne(mapped, traced, *code, values, target);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace tenon::test
