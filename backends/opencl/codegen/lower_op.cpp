// Says which launches an op consists of: what its kernel's host code (kernels/*.cpp) will do.
#include <cstring>

#include "backends/opencl/caps/conv_caps.hpp"
#include "backends/opencl/codegen/conv_geometry.hpp"
#include "backends/opencl/codegen/group_source.hpp"
#include "runtime/ops/kernel_name.hpp"

namespace tenon::opencl {
namespace {

/// Dimensions that one launch by rows loops over (row_launch.hpp).
constexpr int kMostLoops = 4;

LoweredOp Refused(const char* reason) {
  LoweredOp lowered;
  lowered.why_not = reason;
  return lowered;
}

LoweredOp OneLaunch(const ProgramChoice& on_cpu, const std::string& elsewhere) {
  SubKernel launch;
  launch.on_cpu = on_cpu;
  launch.with_local = on_cpu;
  launch.with_local.options = elsewhere;
  launch.options = elsewhere;
  LoweredOp lowered;
  lowered.launches.push_back(launch);
  return lowered;
}

LoweredOp OneLaunch(const ProgramChoice& program) { return OneLaunch(program, program.options); }

/// One launch where rows are few enough dimensions. `axes` of them are handled inside.
LoweredOp ByRows(const ProgramChoice& program, const TensorView& output, int axes = 0) {
  if (output.rank - axes > kMostLoops) return Refused("its rank takes several launches");
  return OneLaunch(program);
}

/// `variant`: the tile that the kernel's name asks for, or null.
LoweredOp LowerTile(const char* function, const char* variant, const TileProblem& problem,
                    const Activation& activation, bool any_layout) {
  const auto program = [&](const TileShape& shape) {
    return ProgramChoice{TileFile(shape), TileOptions(shape, activation, any_layout), function};
  };
  const TileShape& with_local = TileFor(variant, problem, TileDevice::kLocalMemory);
  SubKernel launch;
  launch.on_cpu = program(TileFor(variant, problem, TileDevice::kCpu));
  launch.with_local = program(with_local);
  launch.local_floats = with_local.local_floats();
  launch.options = program(TileFor(variant, problem, TileDevice::kOther)).options;
  LoweredOp lowered;
  lowered.launches.push_back(launch);
  return lowered;
}

LoweredOp LowerConvTile(const char* variant, const OpCall& op) {
  // Whether it is a GEMM does not depend on the tile.
  TileParameters parameters = ConvParameters(op, TileShapes()[0]);
  return LowerTile(MakeGemm(parameters) ? "gemm_tile" : "conv_tile", variant, ConvTileProblem(op),
                   op.AttributesAs<ConvAttributes>().activation,
                   HasScatteredChannels(op.Input(ConvInput::kX)));
}

LoweredOp LowerMatMulTile(const char* variant, const OpCall& op) {
  LoweredOp lowered = LowerTile("gemm_tile", variant, MatMulTileProblem(op),
                                op.AttributesAs<MatMulAttributes>().activation, false);
  if (op.Input(MatMulInput::kWeights).data != nullptr) return lowered;
  // A second factor that is no constant is packed first.
  lowered.launches[0].phase = 1;
  ProgramChoice pack;
  pack.file = "matmul_pack.cl";
  pack.function = "matmul_pack";
  lowered.launches.insert(lowered.launches.begin(), OneLaunch(pack).launches[0]);
  return lowered;
}

/// Three launches for every piece of the tiles (conv_winograd.cpp).
LoweredOp LowerWinograd(const char* variant, const OpCall& op) {
  const WinogradPieces pieces = WinogradPiecesOf(op);
  const auto count = static_cast<uint32_t>((pieces.tiles - 1) / pieces.piece_tiles + 1);
  if (3 * count > kMostPhases) return Refused("it takes many launches that wait for each other");
  TileProblem problem = ConvTileProblem(op);
  problem.pixels = pieces.piece_tiles;
  const SubKernel gemm = LowerTile("gemm_tile", variant, problem, {}, false).launches[0];
  ProgramChoice transform;
  transform.file = "conv_winograd.cl";
  transform.options = FunctionOption(op.AttributesAs<ConvAttributes>().activation);
  LoweredOp lowered;
  const auto add = [&](const SubKernel& launch) {
    lowered.launches.push_back(launch);
    lowered.launches.back().phase = static_cast<uint32_t>(lowered.launches.size()) - 1;
  };
  for (uint32_t piece = 0; piece < count; ++piece) {
    transform.function = "winograd_input";
    add(OneLaunch(transform).launches[0]);
    add(gemm);
    transform.function = "winograd_output";
    add(OneLaunch(transform).launches[0]);
  }
  return lowered;
}

LoweredOp LowerDepthwise(const OpCall& op) {
  const int32_t channels = op.Output().dims[1];
  const std::string options = DepthwiseOptions(op);
  LoweredOp lowered;
  const auto add = [&](const char* function) {
    ProgramChoice program;
    program.file = "conv_depthwise.cl";
    program.options = options;
    program.function = function;
    lowered.launches.push_back(OneLaunch(program).launches[0]);
  };
  if (channels >= kDepthwiseLanes) add("depthwise");
  if (channels % kDepthwiseLanes != 0) add("depthwise_rest");
  return lowered;
}

/// One launch for every input.
LoweredOp LowerConcat(const OpCall& op) {
  LoweredOp lowered = ByRows(MoveProgram(op), op.Output());
  if (lowered.why_not != nullptr) return lowered;
  const SubKernel launch = lowered.launches[0];
  lowered.launches.clear();
  for (int i = 0; i < op.InputCount(); ++i) {
    if (op.Input(i).Elements() > 0) lowered.launches.push_back(launch);
  }
  return lowered;
}

bool Is(const char* kernel, const char* id) {
  const size_t length = std::strlen(id);
  return std::strncmp(kernel, id, length) == 0 && (kernel[length] == '\0' || kernel[length] == ':');
}

}  // namespace

LoweredOp LowerOp(OpKind kind, const char* kernel, const OpCall& op) {
  if (op.Output().Elements() == 0) return Refused("it has nothing to do");
  const char* variant = VariantIn(kernel);
  if (Is(kernel, "opencl.conv.tile") || Is(kernel, "opencl.conv.first")) {
    return LowerConvTile(variant, op);
  }
  if (Is(kernel, "opencl.conv.winograd")) return LowerWinograd(variant, op);
  if (Is(kernel, "opencl.conv.depthwise")) return LowerDepthwise(op);
  if (Is(kernel, "opencl.matmul.tile")) return LowerMatMulTile(variant, op);
  switch (kind) {
    case OpKind::kMaxPool:
      return OneLaunch(MaxPoolProgram(op));
    case OpKind::kAveragePool:
      return OneLaunch(AveragePoolProgram(op));
    case OpKind::kUnary:
      return ByRows(UnaryProgram(op), op.Output());
    case OpKind::kBinary:
      return ByRows(BinaryProgram(op), op.Output());
    case OpKind::kCopy:
    case OpKind::kSlice:
    case OpKind::kTranspose:
    case OpKind::kExpand:
      return ByRows(MoveProgram(op), op.Output());
    case OpKind::kConcat:
      return LowerConcat(op);
    case OpKind::kGather:
      if (!Is(kernel, "opencl.gather.rows")) break;
      return ByRows(GatherProgram(op), op.Output());
    case OpKind::kResize:
      if (op.AttributesAs<ResizeAttributes>().mode != ResizeMode::kNearest) break;
      return OneLaunch(NearestResizeProgram(op));
    case OpKind::kSoftmax:
      return ByRows(SoftmaxProgram(op), op.Output(), 1);
    case OpKind::kLrn:
      return ByRows(LrnProgram(op), op.Output(), 1);
    default:
      break;
  }
  return Refused("its kernel has no form that can be merged with others");
}

}  // namespace tenon::opencl
