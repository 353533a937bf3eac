#include "converter/code/segment_code.hpp"

#include <algorithm>
#include <utility>

#include "backends/fpga/codegen/layers.hpp"
#include "converter/code/segment_source.hpp"
#include "converter/cost/cost_model.hpp"

namespace tenon::converter {
namespace {

class Generator {
 public:
  Generator(const Unit& unit, GeneratedCodes& result) : unit_(unit), result_(result) {}

  void Add(ProgramToEmit& program) {
    for (std::vector<OpId>& ops : SegmentsOf(program)) {
      if (program.graph->op(ops.front()).backend != unit_.backend) continue;
      AddSegment(program, std::move(ops));
    }
  }

 private:
  void AddSegment(ProgramToEmit& program, std::vector<OpId> ops) {
    const TracedSource traced = SourceOf(*program.graph, *program.locations, ops, program.arena);
    auto code = fpga::GenerateCode(traced.source, CodeTargetOf(*unit_.accelerator));
    if (!code.ok()) {
      const fpga::Refusal& refusal = code.refusal();
      const OpId op = refusal.op < 0 ? ops.front() : ops[static_cast<size_t>(refusal.op)];
      result_.refused.push_back({program.graph->op(op).name, unit_.backend, refusal.reason});
      return;
    }
    Report(program, ops.size(), *code);
    DeviceCode device;
    device.ops = std::move(ops);
    device.instructions = std::move(code->descriptors);
    device.constants = std::move(code->constants);
    device.accelerator = unit_.accelerator->name;
    device.version = code->version;
    device.parameters = std::move(code->parameters);
    device.image = unit_.accelerator->image;
    for (const auto& relocation : code->relocations) {
      device.relocations.push_back(
          {relocation.base_register,
           relocation.block < 0 ? kNone : traced.roots[static_cast<size_t>(relocation.block)],
           relocation.writes, relocation.block == fpga::kScratchBlock});
    }
    device.scratch_bytes = code->scratch_bytes;
    program.code.push_back(std::move(device));
  }

  void Report(const ProgramToEmit& program, size_t ops, const fpga::SegmentCode& code) {
    SegmentCodeReport report;
    report.program = program.name;
    report.ops = ops;
    report.code_bytes = code.descriptors.size();
    report.constants_bytes = code.constants.size();
    report.cycles = code.cycles;
    report.layers = code.layers;
    int64_t macs = 0;
    for (const fpga::LayerCycles& layer : code.layers) macs += layer.multiply_accumulates;
    const auto most = static_cast<double>(std::max<int64_t>(code.cycles, 1)) *
                      static_cast<double>(unit_.accelerator->MultiplyAccumulates());
    report.use = static_cast<double>(macs) / most;
    result_.segments.push_back(std::move(report));
  }

  const Unit& unit_;
  GeneratedCodes& result_;
};

}  // namespace

GeneratedCodes GenerateCodes(const Board& board, std::vector<ProgramToEmit>& programs) {
  GeneratedCodes result;
  const Unit* unit = AcceleratorUnit(board);
  if (unit == nullptr) return result;
  for (ProgramToEmit& program : programs) Generator(*unit, result).Add(program);
  if (result.refused.empty()) return result;
  for (ProgramToEmit& program : programs) program.code.clear();
  return result;
}

}  // namespace tenon::converter
