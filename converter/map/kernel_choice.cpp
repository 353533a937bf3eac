#include "converter/map/kernel_choice.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/ops/host/op_table.hpp"
#include "runtime/ops/kernel_name.hpp"

namespace tenon::converter {
namespace {

/// Says which of an op's marks is chosen, and why the others are not.
struct Decision {
  const Mark* mark = nullptr;
  std::string against_others;  ///< empty: their priority
};

class Chooser {
 public:
  Chooser(Graph& graph, const KernelChoiceOptions& options) : graph_(graph), options_(options) {
    marking_ = options;
    marking_.backends = BackendsOf(options);
  }

  Result<std::vector<MappedOp>> Run() {
    TENON_RETURN_IF_ERROR(CheckPins());
    graph_.backends = marking_.backends;
    for (const OpId id : graph_.OpOrder()) {
      Op& op = graph_.MutableOp(id);
      const std::vector<Mark> marks = MarkOp(graph_, op, marking_);
      const Decision decision = Decide(id, marks);
      if (decision.mark == nullptr) {
        Refuse(op, marks);
        continue;
      }
      UseKernel(op, decision.mark->backend, *decision.mark->kernel);
      op.unit = AssignedUnit(id, op);
      op.workspace_bytes = decision.mark->workspace_bytes;
      if (options_.in_place) WorkInPlace(id, op);
      if (options_.variants != nullptr && options_.board != nullptr) {
        UseVariant(graph_, op, *UnitFor(*options_.board, op), *options_.variants);
      }
      mapping_.push_back(Record(op, marks, decision));
    }
    if (!pin_errors_.empty()) return PinError();
    if (!refused_.details.empty()) {
      refused_.message =
          fmt::format("no kernel runs {} op(s) of this model", refused_.details.size());
      return refused_;
    }
    return std::move(mapping_);
  }

 private:
  void WorkInPlace(OpId id, Op& op) {
    const auto k = static_cast<size_t>(id);
    if (k < options_.not_in_place.size() && options_.not_in_place[k]) return;
    if (CapsOf(op).in_place_inputs != 0) return;  // works in place as it is
    const InPlaceKernel found = FindInPlaceKernel(graph_, op, marking_);
    if (found.kernel == nullptr) return;
    const std::string backend = op.backend;
    UseKernel(op, backend, *found.kernel);
    op.workspace_bytes = found.workspace_bytes;
  }

  Status CheckPins() {
    for (const Pin& pin : options_.pins) {
      if (FindBackend(marking_.backends, pin.backend) == nullptr) {
        std::string known;
        for (const BackendCaps& backend : marking_.backends) {
          known += fmt::format("{}{}", known.empty() ? "" : ", ", backend.name);
        }
        return UsageError("map '{}={}': no backend '{}'; there are {}", pin.pattern, pin.backend,
                          pin.backend, known);
      }
      bool matches = false;
      std::string fused_into;
      for (const OpId id : graph_.OpOrder()) {
        const Op& op = graph_.op(id);
        matches = matches || PinMatches(pin, op.name);
        if (fused_into.empty() && FusesMatch(pin, op)) fused_into = op.name;
      }
      if (matches) continue;
      if (!fused_into.empty()) {
        return UsageError("map '{}={}': no op of that name is left: it was fused into '{}'",
                          pin.pattern, pin.backend, fused_into);
      }
      return UsageError("map '{}={}': no op has such a name", pin.pattern, pin.backend);
    }
    return {};
  }

  static bool FusesMatch(const Pin& pin, const Op& op) {
    for (size_t begin = 0; begin < op.source_ops.size();) {
      const size_t end = std::min(op.source_ops.find(',', begin), op.source_ops.size());
      if (PinMatches(pin, std::string_view(op.source_ops).substr(begin, end - begin))) return true;
      begin = end + 1;
    }
    return false;
  }

  static const Mark* MarkOf(const std::vector<Mark>& marks, const std::string& backend) {
    for (const Mark& mark : marks) {
      if (mark.backend == backend) return &mark;
    }
    return nullptr;
  }

  /// Returns the unit that a search has given the op to, if it is one of the op's backend.
  [[nodiscard]] std::string AssignedUnit(OpId id, const Op& op) const {
    const auto k = static_cast<size_t>(id);
    if (options_.board == nullptr || k >= options_.assigned_unit.size()) return "";
    const Unit* unit = options_.board->FindUnit(options_.assigned_unit[k]);
    return unit != nullptr && RunsOp(*unit, op) ? unit->name : "";
  }

  Decision Decide(OpId id, const std::vector<Mark>& marks) {
    const Op& op = graph_.op(id);
    if (const Pin* pin = FindPin(options_.pins, op.name)) {
      const Mark* mark = MarkOf(marks, pin->backend);
      if (mark != nullptr && mark->CanRun()) {
        return {mark, fmt::format("pinned by '{}={}'", pin->pattern, pin->backend)};
      }
      pin_errors_.push_back(
          fmt::format("map '{}={}': '{}' ({}) cannot run there: {}", pin->pattern, pin->backend,
                      op.name, GetOpRow(op.kind).name,
                      mark == nullptr ? fmt::format("the board has no unit of '{}'", pin->backend)
                                      : mark->reason));
    }
    const auto k = static_cast<size_t>(id);
    if (k < options_.assigned.size() && !options_.assigned[k].empty()) {
      const Mark* mark = MarkOf(marks, options_.assigned[k]);
      if (mark != nullptr && mark->CanRun()) {
        return {mark, fmt::format("the optimal mapping gives it to '{}'", mark->backend)};
      }
    }
    Decision best;
    for (const Mark& mark : marks) {
      if (!mark.IsListed()) continue;
      if (best.mark == nullptr || mark.priority < best.mark->priority) best.mark = &mark;
    }
    return best;
  }

  static MappedOp Record(const Op& op, const std::vector<Mark>& marks, const Decision& decision) {
    MappedOp mapped{op.name, op.backend, op.kernel, {}};
    for (const Mark& mark : marks) {
      for (const auto& [kernel, reason] : mark.refused) {
        mapped.candidates.push_back({mark.backend, kernel, mark.priority, reason});
      }
      if (mark.kernel == nullptr) {
        if (mark.refused.empty()) {
          mapped.candidates.push_back({mark.backend, "", mark.priority, mark.reason});
        }
        continue;
      }
      Candidate candidate{mark.backend, mark.kernel->id, mark.priority, ""};
      if (mark.time) {
        candidate.ms = static_cast<double>(*mark.time) / kPicosecondsPerMillisecond;
      }
      if (&mark != decision.mark) candidate.reason = WhyNot(mark, decision);
      mapped.candidates.push_back(std::move(candidate));
    }
    return mapped;
  }

  static std::string WhyNot(const Mark& mark, const Decision& decision) {
    if (!decision.against_others.empty()) return decision.against_others;
    if (!mark.reason.empty()) return mark.reason;
    if (mark.priority == decision.mark->priority) {
      return fmt::format("same priority, but '{}' stands before it on the board",
                         decision.mark->backend);
    }
    return fmt::format("priority {}, '{}' has {}", mark.priority, decision.mark->backend,
                       decision.mark->priority);
  }

  void Refuse(const Op& op, const std::vector<Mark>& marks) {
    std::string line = fmt::format("{} ({}):", op.name, GetOpRow(op.kind).name);
    for (const Mark& mark : marks) {
      for (const auto& [kernel, reason] : mark.refused) {
        line += fmt::format(" {}: {};", kernel, reason);
      }
      if (mark.refused.empty() || mark.CanRun()) {
        line += fmt::format(" {}: {};", mark.backend, mark.reason);
      }
    }
    refused_.details.push_back(std::move(line));
  }

  Error PinError() const {
    Error error{ErrorKind::kUsage, pin_errors_.front(), {}};
    error.details.assign(pin_errors_.begin() + 1, pin_errors_.end());
    return error;
  }

  Graph& graph_;
  const KernelChoiceOptions& options_;
  MarkOptions marking_;
  std::vector<MappedOp> mapping_;
  Error refused_{ErrorKind::kInput, "", {}};
  std::vector<std::string> pin_errors_;
};

}  // namespace

std::vector<BackendCaps> BackendsOf(const KernelChoiceOptions& options) {
  if (!options.backends.empty()) return options.backends;
  std::vector<BackendCaps> backends = BuiltInBackends();
  if (options.board == nullptr) backends.resize(1);
  return backends;
}

Result<std::vector<MappedOp>> ChooseKernels(Graph& graph, const KernelChoiceOptions& options) {
  return Chooser(graph, options).Run();
}

int64_t PackedBytes(const Graph& graph) {
  using PackedBytesFunction = size_t (*)(const OpCall&);
  // Kernels with the same function pack in the same way.
  std::set<std::pair<PackedBytesFunction, PackingKey>> known;
  int64_t bytes = 0;
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    const KernelCaps& caps = CapsOf(op);
    if (caps.packed_bytes == nullptr) continue;
    const OpCallView view(graph, op);
    if (caps.packing_key != nullptr) {
      PackingKey key;
      caps.packing_key(view.call(), &key);
      key.AddText(VariantIn(op.kernel.c_str()));
      if (!known.emplace(caps.packed_bytes, key).second) continue;
    }
    bytes += static_cast<int64_t>(caps.packed_bytes(view.call()));
  }
  return bytes;
}

}  // namespace tenon::converter
