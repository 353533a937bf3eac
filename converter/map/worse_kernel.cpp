#include <algorithm>

#include "converter/map/kernel_choice.hpp"

namespace tenon::converter {
namespace {

/// Returns the mark that the op would be given: its pin's, else the best of the table.
const Mark* BestMark(const std::vector<Mark>& marks, const Pin* pin) {
  const Mark* best = nullptr;
  for (const Mark& mark : marks) {
    if (pin != nullptr && mark.CanRun() && mark.backend == pin->backend) return &mark;
    if (!mark.IsListed()) continue;
    if (best == nullptr || mark.priority < best->priority) best = &mark;
  }
  return best;
}

std::optional<Mark> MarkFor(const Graph& graph, const Op& op, const KernelChoiceOptions& options) {
  MarkOptions marking = options;
  marking.backends = BackendsOf(options);
  const std::vector<Mark> marks = MarkOp(graph, op, marking);
  const Mark* best = BestMark(marks, FindPin(options.pins, op.name));
  return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace

std::string WhyWorseKernel(const Graph& graph, const Op& before, const Op& after,
                           const KernelChoiceOptions& options) {
  MarkOptions marking = options;
  marking.backends = BackendsOf(options);
  const Pin* pin = FindPin(options.pins, before.name);
  const std::vector<Mark> marks_before = MarkOp(graph, before, marking);
  const std::vector<Mark> marks_after = MarkOp(graph, after, marking);
  const Mark* was = BestMark(marks_before, pin);
  const Mark* is = BestMark(marks_after, pin);
  if (was == nullptr) return "";  // it runs nowhere as it is
  if (is == nullptr) return "no kernel would run it";
  if (was->backend != is->backend) {
    return fmt::format("it would run on '{}' instead of '{}'", is->backend, was->backend);
  }
  if (is->kernel->portable && !was->kernel->portable) {
    return fmt::format("it would run by {} instead of {}", is->kernel->id, was->kernel->id);
  }
  return "";
}

const KernelCaps* KernelFor(const Graph& graph, const Op& op, const KernelChoiceOptions& options) {
  const std::optional<Mark> mark = MarkFor(graph, op, options);
  return mark ? mark->kernel : nullptr;
}

std::string BackendFor(const Graph& graph, const Op& op, const KernelChoiceOptions& options) {
  const std::optional<Mark> mark = MarkFor(graph, op, options);
  return mark ? mark->backend : "";
}

}  // namespace tenon::converter
