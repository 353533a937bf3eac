#include "converter/stage/unit_times.hpp"

#include <algorithm>

#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {

Status UnitTimes::Run() {
  Graph mapped = graph_;
  TENON_ASSIGN_OR_RETURN(const auto mapping, ChooseKernels(mapped, choice_));
  for (const OpId id : graph_.OpOrder()) {
    const Op& op = graph_.op(id);
    const bool bound = keep_table_ || FindPin(choice_.pins, op.name) != nullptr;
    marks_.push_back(MarkOp(graph_, op, choice_));
    bound_.push_back(bound ? mapped.op(id).backend : "");
  }
  return {};
}

Picoseconds UnitTimes::At(size_t index, const Op& op, const Unit& unit) const {
  const std::string& bound = bound_[index];
  for (const Mark& mark : marks_[index]) {
    const bool may = bound.empty() ? mark.IsListed() : mark.backend == bound;
    if (mark.backend == unit.backend && !may) return kCannotRun;
  }
  return Anywhere(index, op, unit);
}

Picoseconds UnitTimes::Alone(const std::vector<OpId>& order, const Unit& unit) const {
  Picoseconds total = TimeAtRate(unit.start_overhead_us(), 1e6);
  for (size_t i = 0; i < order.size(); ++i) {
    const auto listed = [&](const Mark& mark) {
      return mark.backend == unit.backend && mark.IsListed();
    };
    const Picoseconds time = Anywhere(i, graph_.op(order[i]), unit);
    if (time == kCannotRun || std::none_of(marks_[i].begin(), marks_[i].end(), listed)) {
      return kCannotRun;
    }
    total += time;
  }
  return total;
}

Picoseconds UnitTimes::Anywhere(size_t index, const Op& op, const Unit& unit) const {
  for (const Mark& mark : marks_[index]) {
    if (mark.backend != unit.backend || !mark.CanRun()) continue;
    Op mapped = op;
    UseKernel(mapped, mark.backend, *mark.kernel);
    if (UnitFor(*choice_.board, mapped) != &unit) return kCannotRun;
    // Most views cost nothing; which ones do is known only after layouts are chosen.
    if (GetOpHostRow(op.kind).view != ViewKind::kNone) return 0;
    return mark.time.value_or(0);
  }
  return kCannotRun;
}

}  // namespace tenon::converter
