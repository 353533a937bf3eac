#include "converter/passes/store_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/stored_values.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

size_t ScaleInput(const Op& op) {
  return op.kind == OpKind::kConv ? ConvInput::kWeightsScale : MatMulInput::kWeightsScale;
}

WeightValues ValuesOf(const Tensor& tensor, int32_t outputs_axis) {
  WeightValues weights;
  weights.values.resize(tensor.constant->size() / sizeof(float));
  std::memcpy(weights.values.data(), tensor.constant->data(), tensor.constant->size());
  weights.channels = static_cast<size_t>(tensor.shape[outputs_axis]);
  for (int32_t axis = outputs_axis + 1; axis < tensor.shape.rank; ++axis) {
    weights.inner *= static_cast<size_t>(tensor.shape[axis]);
  }
  return weights;
}

/// The constants that represent weights in a stored form.
struct Constants {
  TensorId weights = kNone;
  TensorId scale = kNone;
};

Op WithStored(const Op& op, const Constants& stored) {
  Op changed = op;
  changed.inputs[GemmInput::kWeights] = stored.weights;
  if (stored.scale != kNone) {
    const size_t scale = ScaleInput(op);
    if (changed.inputs.size() <= scale) changed.inputs.resize(scale + 1, kNone);
    changed.inputs[scale] = stored.scale;
  }
  return changed;
}

class Storer {
 public:
  Storer(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), report_(context.report), weights_(context.weights) {
    weights_.form = form_ = context.weights_form;
    if (form_ != WeightsForm::kModel) return;
    exact_only_ = graph.weights == DType::kI8;
    form_ = exact_only_                    ? WeightsForm::kInt8
            : graph.weights == DType::kF16 ? WeightsForm::kF16
                                           : WeightsForm::kF32;
  }

  void Run() {
    for (const OpId id : graph_.OpOrder()) {
      const Op& op = graph_.op(id);
      if (!TraitsOf(op.kind).IsFloatGemm()) continue;
      const TensorId source = op.inputs[GemmInput::kWeights];
      const Tensor& tensor = graph_.tensor(source);
      if (!tensor.IsConstant() || tensor.dtype != DType::kF32) continue;
      if (!seen_.insert(source).second) continue;
      ++weights_.tensors;
      weights_.bytes_before += tensor.ByteSize();
      if (form_ == WeightsForm::kF32 || !TryStore(id, source)) {
        weights_.bytes_after += tensor.ByteSize();
      }
    }
  }

 private:
  /// All readers of `source` change, or none.
  bool TryStore(OpId first, TensorId source) {
    const std::string reason = Store(first, source);
    if (reason.empty()) return true;
    Decline(graph_, first, reason, report_);
    return false;
  }

  std::string Store(OpId first, TensorId source) {
    const Tensor& tensor = graph_.tensor(source);
    if (tensor.ByteSize() < context_.fewest_weight_bytes) return "its weights are small";
    if (graph_.IsOutput(source)) return "its weights are a graph output";
    const int32_t axis = WeightsChannelAxis(graph_, graph_.op(first));
    const std::vector<OpId> readers = graph_.Consumers(source);
    for (const OpId reader : readers) {
      if (std::string reason = WhyNotReader(reader, source, axis); !reason.empty()) return reason;
    }
    const WeightValues values = ValuesOf(tensor, axis);
    const StoredValues stored = Stored(values);
    if (!stored.refusal.empty()) return stored.refusal;
    const Constants constants = AddConstants(tensor, stored);
    if (std::string reason = Replace(readers, source, constants); !reason.empty()) {
      graph_.EraseTensor(constants.weights);
      if (constants.scale != kNone) graph_.EraseTensor(constants.scale);
      return reason;
    }
    Record(values, stored, constants);
    return "";
  }

  /// i8 pays where a channel has many weights: with few, the scale costs much of what is saved
  /// against f16, and accuracy suffers most. Where a few weights are so much larger than the others
  /// that these get few steps, f16 is more accurate too.
  [[nodiscard]] StoredValues Stored(const WeightValues& values) const {
    if (form_ == WeightsForm::kF16) return StoreAsHalf(values);
    constexpr size_t kFewestOfChannel = 32;
    const bool pays = values.values.size() / values.channels >= kFewestOfChannel;
    StoredValues stored = StoreAsInt8(values, exact_only_ || !pays);
    if (exact_only_) return stored;
    if (stored.refusal.empty()) {
      constexpr double kLeastRatio = 2500;  // 34 dB
      const StorageLoss loss = LossOf(values, stored.values);
      if (loss.signal >= kLeastRatio * loss.noise) return stored;
    } else if (pays) {
      return stored;
    }
    StoredValues half = StoreAsHalf(values);
    return half.refusal.empty() || !stored.refusal.empty() ? half : stored;
  }

  [[nodiscard]] std::string WhyNotReader(OpId reader, TensorId source, int32_t axis) {
    const Op& op = graph_.op(reader);
    const auto uses = std::count(op.inputs.begin(), op.inputs.end(), source);
    if (!TraitsOf(op.kind).IsFloatGemm() || op.inputs[GemmInput::kWeights] != source || uses != 1) {
      return fmt::format("'{}' reads its weights as something else", op.name);
    }
    if (form_ == WeightsForm::kF16) return "";
    if (WeightsChannelAxis(graph_, op) != axis) {
      return fmt::format("'{}' has other output channels of the same weights", op.name);
    }
    const Tensor& tensor = graph_.tensor(source);
    if (op.kind == OpKind::kMatMul && tensor.shape.rank != 2) {
      return "several matrices have no scale for each column";
    }
    return "";
  }

  Constants AddConstants(const Tensor& tensor, const StoredValues& stored) {
    const std::string name = tensor.name;
    const Shape shape = tensor.shape;
    Constants constants;
    if (stored.scales.empty()) {
      constants.weights = graph_.AddConstant(name + ".f16", DType::kF16, shape, stored.bytes);
      return constants;
    }
    Shape vector;
    vector.rank = 1;
    vector[0] = static_cast<int32_t>(stored.scales.size());
    constants.weights = graph_.AddConstant(name + ".i8", DType::kI8, shape, stored.bytes);
    constants.scale = graph_.AddConstantOf(name + ".scale", DType::kF32, vector, stored.scales);
    return constants;
  }

  /// Returns why one of the readers must not change, or changes them all.
  std::string Replace(const std::vector<OpId>& readers, TensorId source,
                      const Constants& constants) {
    for (const OpId reader : readers) {
      const Op& op = graph_.op(reader);
      if (!context_.why_worse_kernel) break;
      std::string reason = context_.why_worse_kernel(graph_, op, WithStored(op, constants));
      if (!reason.empty()) return reason;
    }
    for (const OpId reader : readers) {
      graph_.MutableOp(reader).inputs = WithStored(graph_.op(reader), constants).inputs;
    }
    graph_.EraseTensor(source);
    return "";
  }

  void Record(const WeightValues& values, const StoredValues& stored, const Constants& constants) {
    const Graph& graph = graph_;
    ++report_.changed;
    ++weights_.stored;
    weights_.bytes_after += graph.tensor(constants.weights).ByteSize();
    if (constants.scale != kNone) weights_.bytes_after += graph.tensor(constants.scale).ByteSize();
    const StorageLoss loss = LossOf(values, stored.values);
    weights_.largest_error = std::max(weights_.largest_error, loss.largest_error);
    if (loss.noise == 0) return;
    const double snr_db = 10 * std::log10(loss.signal / loss.noise);
    if (!weights_.least_snr_tensor.empty() && snr_db >= weights_.least_snr_db) return;
    weights_.least_snr_db = snr_db;
    weights_.least_snr_tensor = graph.tensor(constants.weights).name;
  }

  Graph& graph_;
  const PassContext& context_;
  PassReport& report_;
  WeightsReport& weights_;
  WeightsForm form_;
  bool exact_only_ = false;
  std::set<TensorId> seen_;
};

}  // namespace

const char* Name(WeightsForm form) {
  switch (form) {
    case WeightsForm::kModel:
      return "model";
    case WeightsForm::kF32:
      return "f32";
    case WeightsForm::kF16:
      return "f16";
    case WeightsForm::kInt8:
      return "int8";
  }
  return "";
}

bool HasInt8Weights(const Graph& graph) {
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (op.kind != OpKind::kDequantize) continue;
    const Tensor& quantized = graph.tensor(op.inputs[0]);
    if (quantized.IsConstant() && quantized.dtype == DType::kI8) return true;
  }
  return false;
}

Status StoreWeights(Graph& graph, PassContext& context) {
  Storer(graph, context).Run();
  return {};
}

}  // namespace tenon::converter
