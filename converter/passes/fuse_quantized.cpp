#include <map>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"
#include "converter/passes/patterns.hpp"
#include "converter/passes/quantization.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

bool HasDequantizedOperand(const Graph& graph, const Op& op) {
  const auto dequantized = [&](TensorId id) {
    return ProducerOfKind(graph, id, OpKind::kDequantize) != kNone;
  };
  return std::any_of(op.inputs.begin(), op.inputs.end(), dequantized);
}

class Fuser {
 public:
  Fuser(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), report_(context.report) {}

  Status Run() {
    // Each change may let others happen: GEMMs take the quantize ops that moves bring to them.
    int before = -1;
    while (before != report_.changed) {
      before = report_.changed;
      TENON_RETURN_IF_ERROR(Move(/*log=*/false));
      refusals_.clear();
      for (const OpId id : graph_.OpOrder()) {
        if (graph_.IsOp(id)) TENON_RETURN_IF_ERROR(TryOp(id));
      }
    }
    TENON_RETURN_IF_ERROR(Move(/*log=*/true));
    for (const auto& [id, reason] : refusals_) {
      if (graph_.IsOp(id)) Decline(graph_, id, reason, report_);
    }
    return {};
  }

 private:
  Status Move(bool log) {
    TENON_ASSIGN_OR_RETURN(const int moved, MoveQuantization(graph_, log, report_));
    report_.changed += moved;
    if (moved == 0) return {};
    // Weights that were moved are constants in another shape.
    PassContext folding;
    folding.fold = context_.fold;
    return FoldQuantizedConstants(graph_, folding);
  }

  Status TryOp(OpId id) {
    const Op& op = graph_.op(id);
    if (TraitsOf(op.kind).IsQuantizedGemm()) {
      if (MakeWeightsSymmetric(graph_, id)) ++report_.changed;
      return {};
    }
    if (TraitsOf(op.kind).IsFloatGemm() && HasDequantizedOperand(graph_, op)) {
      TENON_ASSIGN_OR_RETURN(const std::string reason, TryQuantizeGemm(graph_, id));
      Note(id, reason);
    }
    if (op.kind == OpKind::kQuantize) return TryQuantize(id);
    return {};
  }

  Status TryQuantize(OpId id) {
    if (graph_.tensor(graph_.op(id).inputs.front()).producer == kNone) return {};
    if (TryStoreOtherwise(graph_, id)) {
      ++report_.changed;
      return {};
    }
    TENON_ASSIGN_OR_RETURN(std::string reason, TryMakeLookup(graph_, id, context_.fold));
    if (reason == kNotElementwise) {
      TENON_ASSIGN_OR_RETURN(reason, TryQuantizeResult(graph_, id));
    }
    Note(id, reason);
    return {};
  }

  void Note(OpId id, const std::string& reason) {
    if (reason.empty()) {
      ++report_.changed;
    } else {
      refusals_[id] = reason;
    }
  }

  Graph& graph_;
  const PassContext& context_;
  PassReport& report_;
  std::map<OpId, std::string> refusals_;
};

}  // namespace

Status FuseQuantized(Graph& graph, PassContext& context) { return Fuser(graph, context).Run(); }

}  // namespace tenon::converter
