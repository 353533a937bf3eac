#include "tests/support/plan_text.hpp"

#include <fmt/format.h>

#include "converter/status.hpp"
#include "runtime/format/plan_view.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::test {
namespace {

std::string List(Span<const int32_t> values) {
  std::string text;
  for (const int32_t value : values) text += fmt::format("{}{}", text.empty() ? "" : ",", value);
  return text;
}

class Writer {
 public:
  explicit Writer(const PlanView& plan) : plan_(plan), program_(plan.program(0)) {}

  std::string Write() {
    for (size_t i = 0; i < program_.arena_count(); ++i) {
      const ArenaInfo arena = program_.arena(i);
      text_ += fmt::format("arena {} {} (lower bound {})\n", plan_.space_name(arena.space),
                           arena.bytes, arena.lower_bound);
    }
    for (size_t i = 0; i < plan_.section_count(); ++i) {
      text_ += fmt::format("{} {}\n", plan_.section(i).name, plan_.section(i).bytes);
    }
    for (size_t i = 0; i < program_.tensor_count(); ++i) WriteTensor(program_.tensor(i));
    for (size_t i = 0; i < program_.step_count(0); ++i) {
      WriteOp(program_.op(program_.step(0, i).op));
    }
    for (size_t i = 0; i < program_.input_count(); ++i) WritePort("input", program_.input(i));
    for (size_t i = 0; i < program_.output_count(); ++i) WritePort("output", program_.output(i));
    for (size_t i = 1; i < plan_.program_count(); ++i) WriteSchedule(plan_.program(i));
    return text_;
  }

 private:
  /// Who runs what, of a program beside the first.
  void WriteSchedule(const ProgramView& program) {
    text_ += fmt::format("program {}\n", program.name());
    for (size_t i = 0; i < program.arena_count(); ++i) {
      const ArenaInfo arena = program.arena(i);
      text_ += fmt::format("arena {} {} x {}\n", plan_.space_name(arena.space), arena.bytes,
                           arena.slots);
    }
    for (size_t worker = 0; worker < program.worker_count(); ++worker) {
      text_ += fmt::format("worker {} {}\n", worker, program.worker_name(worker));
      for (size_t step = 0; step < program.step_count(worker); ++step) {
        const StepInfo info = program.step(worker, step);
        text_ += fmt::format("  {}.{} stage {}: {}", worker, step, StageOf(program, info.op),
                             program.op(info.op).name);
        for (size_t k = 0; k < info.wait_count; ++k) {
          const WaitInfo wait = program.wait(worker, step, k);
          text_ += fmt::format("{} {}.{}", k == 0 ? ", after" : " and", wait.worker, wait.step);
        }
        text_ += '\n';
      }
    }
  }

  static int StageOf(const ProgramView& program, uint32_t op) {
    for (size_t i = 0; i < program.segment_count(); ++i) {
      for (const uint32_t own : program.segment(i).ops) {
        if (own == op) return program.segment(i).stage;
      }
    }
    return -1;
  }

  void WriteTensor(const TensorInfo& tensor) {
    const StorageInfo storage = program_.storage(tensor.storage);
    const bool constant = storage.home == StorageHome::kSection;
    text_ +=
        fmt::format("tensor {} {}[{}] @{}:{} strides [{}]\n", tensor.name, DTypeName(tensor.dtype),
                    List(tensor.dims), constant ? "constants" : "arena",
                    storage.offset + tensor.offset, List(tensor.strides));
  }

  void WriteOp(const OpInfo& op) {
    text_ +=
        fmt::format("op {} \"{}\" {} ({}) -> ({})", GetOpRow(static_cast<OpKind>(op.kind)).name,
                    op.name, plan_.kernel(op.kernel), Names(op.inputs), Names(op.outputs));
    if (op.workspace >= 0) {
      const TensorInfo workspace = program_.tensor(static_cast<size_t>(op.workspace));
      text_ += fmt::format(" workspace {}", List(workspace.dims));
    }
    if (op.in_place >= 0) text_ += fmt::format(" in place of input {}", op.in_place);
    text_ += '\n';
  }

  void WritePort(const char* kind, const PortInfo& port) {
    text_ += fmt::format("{} {} as \"{}\"\n", kind, program_.tensor(port.tensor).name, port.name);
  }

  [[nodiscard]] std::string Names(Span<const int32_t> tensors) const {
    std::string text;
    for (const int32_t tensor : tensors) {
      text += text.empty() ? "" : ", ";
      text += tensor < 0 ? "_" : program_.tensor(static_cast<size_t>(tensor)).name;
    }
    return text;
  }

  const PlanView& plan_;
  ProgramView program_;
  std::string text_;
};

}  // namespace

std::string PlanText(const std::vector<uint8_t>& plan) {
  const PlanBytes file(plan);
  const Result<PlanView> view =
      PlanView::Open({static_cast<const uint8_t*>(file.data()), file.size()});
  if (!view.ok()) return converter::ToString(view.status());
  return Writer(*view).Write();
}

}  // namespace tenon::test
