#include "backends/opencl/caps/supports.hpp"

#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// Objects of one loaded op and of one session's op on our side of OpenCL, at most.
constexpr size_t kObjectBytes = 4096;

const char* F32Only(const OpCall& call) {
  return call.Input(0).dtype == DType::kF32 ? nullptr : "the OpenCL kernel runs f32 only";
}

constexpr const char* kManyDims = "the OpenCL kernel takes at most 4 dimensions";

/// Bytes from a constant's first to its last element; 0 of what is no constant.
size_t SpanOf(const TensorView& view) {
  if (view.data == nullptr || view.Elements() == 0) return 0;
  size_t last = 0;
  for (int k = 0; k < view.rank; ++k) {
    last += static_cast<size_t>(view.dims[k] - 1) * static_cast<size_t>(view.strides[k]);
  }
  return (last + 1) * static_cast<size_t>(DTypeBytes(view.dtype));
}

constexpr bool CastsFrom(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64 ||
         dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kBool;
}

}  // namespace

const char* UnarySupports(const OpCall& call) {
  if (call.AttributesAs<UnaryAttributes>().function == UnaryFunction::kNot) {
    return "the OpenCL unary does not run not";
  }
  return F32Only(call);
}

const char* BinarySupports(const OpCall& call) { return F32Only(call); }
const char* PoolSupports(const OpCall& call) { return F32Only(call); }
const char* MaxPoolSupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  return dtype == DType::kI8 || dtype == DType::kU8 ? nullptr : F32Only(call);
}
const char* SoftmaxSupports(const OpCall& call) { return F32Only(call); }
const char* LayerNormSupports(const OpCall& call) { return F32Only(call); }
const char* LrnSupports(const OpCall& call) { return F32Only(call); }
const char* SelectSupports(const OpCall&) { return nullptr; }
const char* MoveSupports(const OpCall&) { return nullptr; }

const char* ReduceSupports(const OpCall& call) { return F32Only(call); }

const char* PadSupports(const OpCall& call) {
  const DType dtype = call.Input(0).dtype;
  if (dtype == DType::kF16 || dtype == DType::kBf16) return "the OpenCL pad does not run f16";
  return call.Input(0).rank <= 4 ? nullptr : kManyDims;
}

const char* ResizeSupports(const OpCall& call) {
  if (call.Input(0).rank > 4) return kManyDims;
  const bool moves = call.AttributesAs<ResizeAttributes>().mode == ResizeMode::kNearest;
  return moves ? nullptr : F32Only(call);
}

const char* GridSampleSupports(const OpCall&) { return nullptr; }

const char* GatherSupports(const OpCall& call) {
  return call.Input(GatherInput::kIndices).data != nullptr
             ? nullptr
             : "the OpenCL gather needs constant indices: others may be out of range, which a "
               "device cannot refuse";
}

const char* ScatterSupports(const OpCall& call) {
  const TensorView& indices = call.Input(ScatterInput::kIndices);
  if (indices.data == nullptr && indices.Elements() > 0) {
    return "the OpenCL scatter needs constant indices: others may be out of range, which a device "
           "cannot refuse";
  }
  const bool joins = call.AttributesAs<ScatterAttributes>().function != ScatterFunction::kReplace;
  return joins ? F32Only(call) : nullptr;
}

const char* TopKSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<TopKAttributes>();
  // Each element is compared with all others.
  constexpr int32_t kLongest = 1024;
  if (attributes.count > 1 && call.Input(0).dims[attributes.axis] > kLongest) {
    return "the OpenCL top_k takes several of at most 1024 elements";
  }
  return F32Only(call);
}

const char* CastSupports(const OpCall& call) {
  if (CastsFrom(call.Input(0).dtype) && CastsFrom(call.Output().dtype)) return nullptr;
  return "the OpenCL cast runs f32, i32, i64, i8, u8 and bool";
}

size_t HeldConstants(const OpCall& call) {
  size_t bytes = kObjectBytes;
  for (int i = 0; i < call.InputCount(); ++i) {
    if (call.HasInput(i)) bytes += SpanOf(call.Input(i));
  }
  return bytes;
}

size_t GatherHeld(const OpCall& call) {
  // A table with the place of each index, and what lies between them.
  const TensorView& indices = call.Input(GatherInput::kIndices);
  const auto element = static_cast<size_t>(DTypeBytes(indices.dtype));
  return HeldConstants(call) + SpanOf(indices) / element * sizeof(int32_t);
}

size_t ScatterHeld(const OpCall& call) {
  // Of each row where its updates begin, and of each update its number.
  const auto rows = static_cast<size_t>(call.Output().dims[0]) + 1;
  const auto updates = static_cast<size_t>(call.Input(ScatterInput::kIndices).dims[0]) + 1;
  return HeldConstants(call) + (rows + updates) * sizeof(int32_t);
}

size_t ResizeHeld(const OpCall& call) {
  // Of each output position along each axis: four offsets and four weights at most.
  size_t positions = 0;
  for (int k = 0; k < call.Output().rank; ++k) {
    positions += static_cast<size_t>(call.Output().dims[k]);
  }
  return HeldConstants(call) + positions * 8 * sizeof(float);
}

}  // namespace tenon::opencl
