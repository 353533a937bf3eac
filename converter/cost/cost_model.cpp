#include "converter/cost/cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/caps/kernel_work.hpp"
#include "backends/fpga/codegen/predict_op.hpp"
#include "converter/cost/features_kernels.hpp"
#include "converter/cost/profile_operands.hpp"
#include "converter/cost/strided_work.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/host/host_rows.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

bool IsDepthwise(const Graph& graph, const Op& op) {
  if (!TraitsOf(op.kind).convolution) return false;
  const int32_t group = op.attributes.As<ConvAttributes>().group;
  return group > 1 && group == graph.tensor(op.inputs[0]).shape.dims[1];
}

/// Of one of the CPU's kernels; null while none is chosen, and for those of devices.
const KernelCaps* CpuCapsOf(const Op& op) {
  return op.caps != nullptr ? op.caps : cpu::CapsNamed(op.kernel.c_str());
}

bool IsPortable(const Op& op) {
  const KernelCaps* caps = CpuCapsOf(op);
  return caps != nullptr && caps->portable;
}

/// Returns true for kernels of processors with an operating system, whose register tiles these
/// facts are about.
bool HasRegisterTiles(const Op& op) {
  const OpTraits& traits = TraitsOf(op.kind);
  const KernelCaps* caps = CpuCapsOf(op);
  return (traits.convolution || traits.matrix_product) && caps != nullptr && !caps->firmware;
}

/// Returns true for products of the CPU's vector kernels that add a bias and clamp while the sums
/// are in registers, which takes no time beside the products; other functions pass over the
/// outputs.
bool EndsInRegisters(const Op& op) {
  const OpTraits& traits = TraitsOf(op.kind);
  if (!HasRegisterTiles(op)) return false;
  if (traits.activation_offset < 0) return true;
  switch (op.attributes.Member<Activation>(traits.activation_offset).function) {
    case UnaryFunction::kIdentity:
    case UnaryFunction::kRelu:
    case UnaryFunction::kClip:
      return true;
    default:
      return false;
  }
}

/// Returns the share of a register tile's columns that are outputs: the CPU's vector kernels
/// compute groups of 16 channels, and fewer take as long. Kernels of few outputs count their own
/// products, and so do Winograd's and the depthwise one where there are several groups.
double ShareOfColumns(const Graph& graph, const Op& op) {
  if (!HasRegisterTiles(op)) return 1.0;
  constexpr int64_t kColumns = 16;
  const bool convolution = TraitsOf(op.kind).convolution;
  const Shape& y = graph.tensor(op.outputs[0]).shape;
  const int64_t group = convolution ? op.attributes.As<ConvAttributes>().group : 1;
  const std::string_view id = CpuCapsOf(op)->id;
  if (id == "cpu.conv.vector_narrow" || id == "cpu.conv.vector_pixels" ||
      id == "cpu.matmul.vector_column") {
    return 1.0;
  }
  const bool counts_groups = id == "cpu.conv.vector_winograd" || id == "cpu.conv.vector_depthwise";
  if (group > 1 && counts_groups) return 1.0;
  const int64_t outputs = y[convolution ? 1 : y.rank - 1] / group;
  if (outputs <= 0) return 1.0;
  return static_cast<double>(outputs) / static_cast<double>(RoundUp<int64_t>(outputs, kColumns));
}

/// Returns the rate that the board gives for the dtype, bytes of either sign having one; 0: none.
double RateOf(const std::map<std::string, double>& rates, DType dtype) {
  auto rate = rates.find(DTypeName(dtype));
  if (rate == rates.end() && dtype == DType::kU8) rate = rates.find(DTypeName(DType::kI8));
  return rate == rates.end() ? 0.0 : rate->second;
}

/// Returns what a depthwise convolution costs beside its taps, in multiply-accumulates. Each image
/// of one position is one call for all of its channels, and of bytes one of a column is one row.
double BesideTaps(const Graph& graph, const Op& op, const Unit& unit) {
  constexpr int64_t kChannels = 16;
  if (!IsDepthwise(graph, op)) return 0;
  const DType dtype = graph.tensor(op.inputs[0]).dtype;
  const Shape& y = graph.tensor(op.outputs[0]).shape;
  if (y[2] * y[3] == 1) return 0;
  const Shape& x = graph.tensor(op.inputs[0]).shape;
  const bool is_column = DTypeBytes(dtype) == 1 && x[3] == 1 && y[3] == 1;
  const int64_t rows = y[0] * (is_column ? 1 : y[2]) * CeilDiv<int64_t>(y[1], kChannels);
  return RateOf(unit.depthwise_products_per_output, dtype) * static_cast<double>(y.Elements()) +
         RateOf(unit.depthwise_products_per_row, dtype) * static_cast<double>(rows);
}

/// Returns how many multiply-accumulates take the time of one: Winograd's products are four for
/// six. Where the op's workspace (0: not known yet) has no room for them, it may grow later
/// (GrowWorkspaces): measured in patches of ResNet-8, about half of these convolutions have room
/// then.
double WorkOfProduct(const Graph& graph, const Op& op) {
  const KernelCaps* caps = CpuCapsOf(op);
  const std::string_view id = caps == nullptr ? "" : caps->id;
  const bool in_place = id == "cpu.quantized_conv.dsp_winograd_in_place";
  if (id != "cpu.quantized_conv.dsp_winograd" && !in_place) return 1;
  const OpCallView view(graph, op);
  const size_t bytes = op.workspace_bytes > 0 ? static_cast<size_t>(op.workspace_bytes) : SIZE_MAX;
  const bool fits = in_place ? cpu::dsp::WinogradFitsInPlace(view.call(), bytes)
                             : cpu::dsp::WinogradPassOf(view.call(), bytes).tiles > 0;
  return fits ? 1.5 : 1.2;
}

/// Returns the rate of one thread.
double MultiplyAccumulateRate(const Graph& graph, const Op& op, const Unit& unit) {
  const auto& rates = unit.multiply_accumulates_per_second;
  // Floats that an op brings to bytes are multiplied as such.
  const bool is_dynamic = op.kind == OpKind::kDynamicMatMul;
  const DType dtype = graph.tensor(op.inputs[is_dynamic ? 1 : 0]).dtype;
  if (IsPortable(op)) {
    const auto& portable = unit.portable_multiply_accumulates_per_second;
    const auto rate = portable.find(DTypeName(dtype));
    if (rate != portable.end()) return rate->second;
  }
  double rate = RateOf(rates, dtype);
  if (rate == 0) rate = RateOf(rates, DType::kF32);
  if (rate == 0) return unit.elementary_ops_per_second / 2;
  if (IsDepthwise(graph, op)) {
    const double own = RateOf(unit.depthwise_multiply_accumulates_per_second, dtype);
    return own > 0 ? own : rate * unit.depthwise_fraction;
  }
  if (unit.kind != "cpu") return rate;
  return rate * ShareOfColumns(graph, op) * WorkOfProduct(graph, op);
}

/// Returns the share of `footprint` bytes, all of which every run uses, that the unit's last cache
/// has no room for.
double ShareInMemory(const Unit& unit, int64_t footprint) {
  if (footprint <= unit.shared_cache_bytes) return 0.0;
  return 1.0 - static_cast<double>(unit.shared_cache_bytes) / static_cast<double>(footprint);
}

/// Returns the share of `footprint` bytes, which are read in turns, that a cache still has when
/// their turn comes again: it has replaced all of twice as many.
double ShareKept(int64_t cache_bytes, int64_t footprint) {
  if (footprint <= cache_bytes) return 1;
  return std::max(0.0, 2 * static_cast<double>(cache_bytes) / static_cast<double>(footprint) - 1);
}

/// Returns the share of an op's activations that a cache of so many bytes has: others' are there,
/// too, so that of as many as it takes half are found.
double ShareNear(int64_t cache_bytes, int64_t footprint) {
  return std::clamp(1.5 - static_cast<double>(footprint) / static_cast<double>(cache_bytes), 0.0,
                    1.0);
}

/// How long the caches take to give what they hold.
struct CachedTime {
  Picoseconds own = 0;   ///< the unit's own cache
  Picoseconds last = 0;  ///< the last cache, and memory of constants
};

/// Moves what caches hold from the port's bytes to the time that reading it takes. `constants` are
/// those bytes of them that come from constants, of which memory gives `constant_rate` a second, or
/// as the port where that is 0; `again` are those that the kernel reads once more.
CachedTime TakeCached(const Graph& graph, const Unit& unit, int64_t constants, int64_t again,
                      double constant_rate, int64_t& bytes) {
  const double last = unit.shared_cache_bytes_per_second;
  const int64_t all_constants = graph.ConstantBytesAtMost();
  const double constants_far = ShareInMemory(unit, all_constants);
  const double others_far = ShareInMemory(unit, bytes);
  const auto others = static_cast<double>(bytes - constants);
  const auto of_constants = static_cast<double>(constants);
  const bool has_rate = unit.cache_bytes_per_second > 0;
  const double near = has_rate ? ShareNear(unit.cache_bytes_per_thread, bytes - constants) : 0.0;
  const double constants_near =
      has_rate ? ShareKept(unit.cache_bytes_per_thread, bytes - constants + all_constants) : 0.0;
  CachedTime time;
  const auto add = [&](double held, double share_near) {
    if (share_near > 0) time.own += TimeAtRate(held * share_near, unit.cache_bytes_per_second);
    time.last += TimeAtRate(held * (1 - share_near), last);
  };
  add(others * (1 - others_far), near);
  add(of_constants * (1 - constants_far), constants_near);
  add(static_cast<double>(again), 0);
  double far = others * others_far;
  if (constant_rate > 0) {
    time.last += TimeAtRate(of_constants * constants_far, constant_rate);
  } else {
    far += of_constants * constants_far;
  }
  bytes = static_cast<int64_t>(far);
  return time;
}

/// Returns the time of arithmetic beside which caches are read.
Picoseconds Beside(const Unit& unit, Picoseconds arithmetic, const CachedTime& cached) {
  const auto both = static_cast<double>(std::min(arithmetic, cached.last));
  return std::max(arithmetic, cached.own + cached.last) +
         static_cast<Picoseconds>(std::llround(both * unit.shared_cache_waits));
}

/// Returns how many elementary operations an element of a reduction takes: vectors take outputs
/// that lie beside each other, and neighbours that are added up. Fitted to the sweep of `tenon
/// profile` on one core (Zen 4).
int64_t OpsOfReducedElement(const OpCall& call, bool is_located) {
  constexpr int64_t kInVectors = 1;
  constexpr int64_t kOfExtreme = 4;
  constexpr int64_t kOneByOne = 8;
  constexpr int32_t kLanes = 16;
  constexpr int kImageRank = 4;
  const TensorView& x = call.Input(0);
  const auto mask = static_cast<uint32_t>(call.AttributesAs<ReduceAttributes>().axes_mask);
  // Until layouts are known, images are taken to have channels last, as on a CPU.
  const bool keeps_channels = !is_located && x.rank == kImageRank && ((mask >> 1) & 1U) == 0;
  if (keeps_channels && x.dims[1] > 1) return x.dims[1] < kLanes ? kOneByOne : kInVectors;
  int innermost = -1;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (x.dims[axis] == 1) continue;
    if (innermost < 0 || x.strides[axis] < x.strides[innermost]) innermost = axis;
  }
  if (innermost < 0) return kInVectors;
  if (((mask >> innermost) & 1U) == 0) {
    return x.dims[innermost] < kLanes ? kOneByOne : kInVectors;
  }
  switch (call.AttributesAs<ReduceAttributes>().function) {
    case ReduceFunction::kMax:
    case ReduceFunction::kMin:
      return kOfExtreme;
    case ReduceFunction::kProd:
    case ReduceFunction::kLogSumExp:
      return kOneByOne;
    default:
      return x.strides[innermost] == 1 ? kInVectors : kOneByOne;
  }
}

/// Returns how many of the operations that are counted for a function vectors do not take: maxima,
/// signs and slopes are one instruction.
int64_t SavedByVectors(UnaryFunction function) {
  if (function == UnaryFunction::kIdentity || features::ActivationWeight(function) > 1) return 0;
  return FunctionCost(function) - 1;
}

/// Returns the work that is no product, at the rate of a PC's or server's vectors: a power with a
/// small whole exponent is products, and what has no vector form takes as long as several of those.
int64_t ElementaryOps(const Op& op, const Unit& unit, const OpCall& call, bool is_located,
                      int64_t counted) {
  constexpr int64_t kOfTile = 300;
  constexpr float kMostProducts = 4;
  if (unit.portable_kernels_only) return counted;
  const int64_t elements = call.Output().Elements();
  if (op.kind == OpKind::kUnary) {
    return counted - elements * SavedByVectors(call.AttributesAs<UnaryAttributes>().function);
  }
  if (op.kind == OpKind::kElementwise) {
    const auto& steps = call.AttributesAs<ElementwiseAttributes>();
    for (int step = 0; step < steps.steps; ++step) {
      counted -= elements * SavedByVectors(steps.activations[step]);
    }
    return counted + kOfTile * steps.steps * CeilDiv<int64_t>(elements, cpu::f32::kElementwiseTile);
  }
  if (!IsPortable(op)) return counted;
  if (op.kind == OpKind::kReduce) return OpsOfReducedElement(call, is_located) * counted;
  const float* exponent = ConstantExponent(call, op.kind);
  if (exponent == nullptr || *exponent < 1 || *exponent > kMostProducts) return counted;
  return std::floor(*exponent) == *exponent ? elements : counted;
}

/// Returns the rate of one thread.
double ElementaryRate(const Op& op, const Unit& unit) {
  const bool moves = TraitsOf(op.kind).moves_elements && unit.moved_elements_per_second > 0;
  return moves ? unit.moved_elements_per_second : unit.elementary_ops_per_second;
}

/// Returns true for an op that reads or writes bytes.
bool HasBytes(const OpCall& call) {
  return DTypeBytes(call.Input(0).dtype) == 1 || DTypeBytes(call.Output().dtype) == 1;
}

/// Returns the bytes of the op's inputs that are constants, once each.
int64_t ConstantBytes(const Graph& graph, const Op& op) {
  int64_t bytes = 0;
  for (auto input = op.inputs.begin(); input != op.inputs.end(); ++input) {
    if (*input == kNone || !graph.tensor(*input).IsConstant()) continue;
    if (std::find(op.inputs.begin(), input, *input) == input) {
      bytes += graph.tensor(*input).ByteSize();
    }
  }
  return bytes;
}

/// True if the op's neighbour at this tensor may run in the same segment: it does, or nobody has
/// been chosen for it yet.
bool StaysInside(const Graph& graph, TensorId id, const Unit& unit) {
  const auto is_ours = [&](OpId op) {
    return op != kNone && (graph.op(op).backend.empty() || graph.op(op).backend == unit.backend);
  };
  const Tensor& tensor = graph.tensor(id);
  if (!is_ours(tensor.producer) || graph.IsOutput(id)) return false;
  const std::vector<OpId> readers = graph.Consumers(id);
  return std::all_of(readers.begin(), readers.end(), is_ours);
}

/// Returns the microseconds that the op costs whatever its size. With DSP kernels most of them go
/// into weights: of 11,500 instructions, a copy has 900.
double StartOf(const Op& op, const Unit& unit) {
  constexpr double kOfCopy = 900.0 / 11500;
  const bool is_copy = op.kind == OpKind::kCopy && unit.kernel_set == "dsp";
  if (is_copy) return unit.op_overhead_us() * kOfCopy;
  if (unit.kind != "cpu" || unit.portable_kernels_only) return unit.op_overhead_us();
  return unit.op_overhead_us() * cpu::StartShare(op.kernel.c_str());
}

/// Returns how much of what an op's start reads the network's constants have replaced in the unit's
/// own cache since the run before: 0 where they all fit, 1 where there are many times as many.
double ShareReplaced(const Graph& graph, const Unit& unit) {
  constexpr double kManyTimes = 8;
  const auto own = static_cast<double>(unit.cache_bytes_per_thread);
  const auto constants = static_cast<double>(graph.ConstantBytesAtMost());
  return own <= 0 ? 0 : std::clamp((constants / own - 1) / kManyTimes, 0.0, 1.0);
}

/// Segments are code: maps between their ops stay on chip, and only others come through the port.
OpTime AcceleratorTime(const Graph& graph, const Op& op, const Unit& unit, const OpCall& call) {
  const Accelerator& accelerator = *unit.accelerator;
  OpTime time;
  time.fixed = TimeAtRate(unit.op_overhead_us(), 1e6);
  const int64_t cycles = fpga::PredictOpCycles(op.kind, call, CodeTargetOf(accelerator));
  time.compute = TimeAtRate(static_cast<double>(cycles), accelerator.clock_hz);
  time.bytes = ConstantBytes(graph, op);
  for (const std::vector<TensorId>* operands : {&op.inputs, &op.outputs}) {
    for (const TensorId id : *operands) {
      if (id == kNone || graph.tensor(id).IsConstant() || StaysInside(graph, id, unit)) continue;
      time.bytes += graph.tensor(id).ByteSize();
    }
  }
  return time;
}

}  // namespace

fpga::CodeTarget CodeTargetOf(const Accelerator& accelerator) {
  fpga::CodeTarget target;
  target.input_channels = accelerator.input_channels;
  target.output_channels = accelerator.output_channels;
  target.pixels = accelerator.pixels;
  target.lanes = accelerator.lanes;
  target.accumulator_pixels = accelerator.accumulator_pixels;
  target.map_bytes = accelerator.map_bytes;
  target.weight_bytes = accelerator.weight_bytes;
  return target;
}

Picoseconds OpTime::Alone(double port_bytes_per_second) const {
  return fixed + std::max(compute, TimeAtRate(static_cast<double>(bytes), port_bytes_per_second));
}

AnalyticCostModel::AnalyticCostModel(const Board& board, int threads, const Locations* locations)
    : threads_(threads), is_x86_64_(board.architecture == "x86-64"), locations_(locations) {
  if (const MemorySpace* space = board.ArenaSpace()) latency_ns_ = space->latency_ns;
  for (const MemorySpace& space : board.memory_spaces) {
    if (!space.holds_constants) continue;
    if (space.holds_arena || space.stage_constants) return;
    constant_bytes_per_second_ = space.bandwidth_bytes_per_second;
    return;
  }
}

OpTime AnalyticCostModel::TimeOf(const Graph& graph, const Op& op, const Unit& unit) const {
  // Lines that are fetched one after the other: in networks of 3 to 22 MB small ops take 0.1 to
  // 1.5 us longer than in a loop (Zen 4, 1 MB of cache).
  constexpr double kLinesOfStart = 8;
  const ProfileOperands view(graph, op, locations_);
  if (unit.accelerator) return AcceleratorTime(graph, op, unit, view.call());
  OpWork work = GetOpHostRow(op.kind).work(view.call());
  const double threads = std::max(1, std::min(threads_, unit.threads));
  OpTime time;
  time.fixed = TimeAtRate(StartOf(op, unit), 1e6) +
               TimeAtRate(kLinesOfStart * latency_ns_ * ShareReplaced(graph, unit), 1e9);
  time.bytes = work.bytes_read + work.bytes_written;
  const bool wide_bytes = is_x86_64_ && MultipliesBytes(unit);
  const int64_t own = cpu::OwnProducts(op.kernel.c_str(), view.call(), wide_bytes);
  if (own >= 0) work.multiply_accumulates = own;
  if (work.multiply_accumulates > 0) {
    time.compute =
        TimeAtRate(static_cast<double>(work.multiply_accumulates) + BesideTaps(graph, op, unit),
                   MultiplyAccumulateRate(graph, op, unit) * threads);
  }
  // A matrix unit applies bias and activation of a convolution in its epilogue.
  const bool on_the_way_out = work.multiply_accumulates > 0 &&
                              !unit.multiply_accumulates_per_second.empty() &&
                              (unit.kind != "cpu" || EndsInRegisters(op));
  const int64_t own_others = cpu::OwnElementaryOps(op.kernel.c_str(), view.call(), wide_bytes);
  if (own_others >= 0) {
    // Such processors' vectors of bytes are twice as wide.
    const bool is_wide = MultipliesBytes(unit) && HasBytes(view.call());
    const double rate = unit.elementary_ops_per_second * (is_wide ? 2 : 1);
    time.compute += TimeAtRate(static_cast<double>(own_others), rate * threads);
  } else if (!on_the_way_out) {
    const int64_t others =
        ElementaryOps(op, unit, view.call(), locations_ != nullptr, work.elementary_ops);
    time.compute += TimeAtRate(static_cast<double>(others), ElementaryRate(op, unit) * threads);
  }
  if (locations_ != nullptr && unit.kind == "cpu" && !unit.portable_kernels_only) {
    const auto apart = static_cast<double>(StridedOps(view));
    time.compute += TimeAtRate(apart, unit.elementary_ops_per_second * threads);
    time.bytes += BytesBesideElements(view);
  }
  // A gather or slice of a constant reads only part of it.
  const int64_t constants = std::min(ConstantBytes(graph, op), work.bytes_read);
  // A device with memory of its own keeps its constants there.
  const bool keeps_constants = unit.kind != "cpu" && unit.port_bytes_per_second > 0;
  if (unit.shared_cache_bytes > 0) {
    const int64_t again =
        cpu::WeightBytesAgain(op.kernel.c_str(), view.call(), unit.cache_bytes_per_thread);
    time.compute =
        Beside(unit, time.compute,
               TakeCached(graph, unit, constants, again, constant_bytes_per_second_, time.bytes));
  } else if (constant_bytes_per_second_ > 0 && !keeps_constants) {
    time.bytes -= constants;
    time.compute = std::max(time.compute,
                            TimeAtRate(static_cast<double>(constants), constant_bytes_per_second_));
  }
  return time;
}

OpTime TransferTime(const Board& board, const Link& link, int64_t bytes) {
  OpTime time;
  time.fixed = TimeAtRate(link.latency_ns, 1e9);
  if (const Unit* unit = board.FindUnit(link.unit)) {
    time.fixed += TimeAtRate(unit->launch_overhead_us, 1e6);
  }
  time.compute = TimeAtRate(static_cast<double>(bytes), link.bandwidth_bytes_per_second);
  return time;
}

bool RunsOp(const Unit& unit, const Op& op) {
  if (unit.IsTransferOnly() || (!op.backend.empty() && op.backend != unit.backend)) return false;
  const char* kind = GetOpRow(op.kind).name;
  return unit.ops.empty() || std::find(unit.ops.begin(), unit.ops.end(), kind) != unit.ops.end();
}

const Unit* UnitFor(const Board& board, const Op& op) {
  const Unit* first = nullptr;
  for (const Unit& unit : board.units) {
    if (!RunsOp(unit, op)) continue;
    if (op.unit.empty() || unit.name == op.unit) return &unit;
    if (first == nullptr) first = &unit;
  }
  return first;
}

}  // namespace tenon::converter
