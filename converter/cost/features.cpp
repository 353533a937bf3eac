#include "converter/cost/features.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <thread>

#include "converter/cost/features_kernels.hpp"
#include "converter/cost/strided_work.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace features {

int64_t BytesOf(const TensorView& view) { return view.Elements() * DTypeBytes(view.dtype); }

double ShareBeyond(const MachineFacts& machine, Level level, double footprint) {
  // Other processors use the last cache, too. Of one of hundreds of MB one processor finds so much
  // at the rate of its own part: measured on a Xeon with 260, where 16 MB come at 25 GB/s, 32
  // at 15.
  constexpr double kShare = 0.25;
  constexpr double kMostOfShare = 16 << 20;
  double cache = 0;
  switch (level) {
    case Level::kL1:
    case Level::kL2:
      cache = static_cast<double>(machine.cache_bytes[static_cast<int>(level)]);
      break;
    case Level::kShareOfL3:
      cache = std::min(kShare * static_cast<double>(machine.cache_bytes[2]), kMostOfShare);
      break;
    case Level::kL3:
      cache = static_cast<double>(machine.cache_bytes[2]);
      break;
  }
  // Part of a working set somewhat larger than the cache is found there.
  return std::clamp((footprint - cache / 2) / cache, 0.0, 1.0);
}

void AddTraffic(const Context& context, double bytes, double footprint) {
  const MachineFacts& machine = context.machine;
  context.terms.Add("l2_bytes", bytes * ShareBeyond(machine, Level::kL1, footprint));
  context.terms.Add("l3_bytes", bytes * ShareBeyond(machine, Level::kL2, footprint));
  context.terms.Add("far_bytes", bytes * ShareBeyond(machine, Level::kShareOfL3, footprint));
  context.terms.Add("memory_bytes", bytes * ShareBeyond(machine, Level::kL3, footprint));
}

void AddActivationTraffic(const Context& context) {
  const double bytes = ActivationBytes(context.operands);
  AddTraffic(context, bytes, bytes);
}

double ActivationWeight(UnaryFunction function) {
  switch (function) {
#define TENON_UNARY_FUNCTION(Kind, name, number, dtypes, elementary_ops, weight) \
  case UnaryFunction::k##Kind:                                                   \
    return weight;
#include "runtime/ops/functions.inc"
  }
  return 0;
}

void AddActivation(const Context& context, const Activation& activation) {
  const auto elements = static_cast<double>(context.call().Output().Elements());
  context.terms.Add("activated", elements * ActivationWeight(activation.function));
}

namespace {

struct KernelModel {
  const char* kernel;  ///< its id; ending in a dot: every kernel of the op
  void (*add)(const Context& context);
};

constexpr KernelModel kModels[] = {
    {"cpu.conv.vector", TileConv},
    {"cpu.conv.vector_panels", TileConv},
    {"cpu.conv.vector_computed", ComputedConv},
    {"cpu.conv.vector_first", FirstConv},
    {"cpu.conv.vector_narrow", NarrowConv},
    {"cpu.conv.vector_pixels", PixelConv},
    {"cpu.conv.vector_winograd", Winograd},
    {"cpu.conv.vector_depthwise", Depthwise},
    {"cpu.conv.onednn", LibraryGemm},
    {"cpu.conv.onednn_matmul", LibraryGemm},
    {"cpu.conv.portable", PortableGemm},
    {"cpu.conv.portable_in_place", PortableGemm},
    {"cpu.matmul.vector", TileMatMul},
    {"cpu.matmul.vector_panels", TileMatMul},
    {"cpu.matmul.vector_computed", ComputedMatMul},
    {"cpu.matmul.vector_column", LibraryGemm},
    {"cpu.matmul.onednn", LibraryGemm},
    {"cpu.matmul.portable", PortableGemm},
    {"cpu.max_pool.vector", Pool},
    {"cpu.average_pool.vector", Pool},
    {"cpu.max_pool.bytes", Pool},
    {"cpu.max_pool.onednn", Pool},
    {"cpu.average_pool.onednn", Pool},
    {"cpu.max_pool.portable", Pool},
    {"cpu.average_pool.portable", Pool},
    {"cpu.lrn.vector", Lrn},
    {"cpu.lrn.onednn", Lrn},
    {"cpu.lrn.portable", Lrn},
    {"cpu.softmax.vector", Softmax},
    {"cpu.softmax.vector_channels", ChannelSoftmax},
    {"cpu.softmax.onednn", Softmax},
    {"cpu.softmax.onednn_channels", ChannelSoftmax},
    {"cpu.softmax.portable", Softmax},
    {"cpu.layer_norm.", LayerNorm},
    {"cpu.attention.", Attention},
    {"cpu.unary.portable", Unary},
    {"cpu.unary.vector", Unary},
    {"cpu.binary.portable", Binary},
    {"cpu.binary.vector", Binary},
    {"cpu.elementwise.", Elementwise},
    {"cpu.reduce.portable", Reduce},
    {"cpu.gather.portable", Gather},
    {"cpu.resize.portable", Resize},
    {"cpu.grid_sample.", GridSample},
    {"cpu.concat.portable", Movement},
    {"cpu.slice.portable", Movement},
    {"cpu.pad.portable", Movement},
    {"cpu.reshape.portable", Movement},
    {"cpu.transpose.portable", Movement},
    {"cpu.expand.portable", Movement},
    {"cpu.cast.portable", Movement},
    {"cpu.copy.portable", Movement},
    {"cpu.quantize.", QuantizedElements},
    {"cpu.dequantize.", QuantizedElements},
    {"cpu.lookup.", QuantizedElements},
    {"cpu.quantized_conv.vector_winograd", QuantizedWinograd},
    {"cpu.quantized_conv.", QuantizedConv},
    {"cpu.quantized_matmul.", QuantizedMatMul},
    {"cpu.dynamic_matmul.", DynamicMatMul},
    {"cpu.quantized_binary.", QuantizedBinary},
    {"cpu.quantized_average_pool.", Pool},
    {"cpu.quantized_reduce.", QuantizedReduce},
    {"cpu.quantized_softmax.", QuantizedSoftmax},
};

const KernelModel* FindModel(const std::string& kernel) {
  for (const KernelModel& model : kModels) {
    const std::string_view id = model.kernel;
    if (id.ends_with('.') ? kernel.starts_with(id) : kernel == id) return &model;
  }
  return nullptr;
}

}  // namespace
}  // namespace features

bool IsTraffic(std::string_view term) {
  return term.ends_with("_bytes") || term.ends_with("_stalls");
}

CostTerms KernelTerms(const ProfileOperands& operands, const MachineFacts& machine, int threads) {
  CostTerms terms;
  terms.model = operands.kernel();
  terms.Add("start", 1);
  if (operands.call().Output().Elements() == 0) return terms;
  const features::KernelModel* model = features::FindModel(operands.kernel());
  if (model == nullptr) return KindTerms(operands, machine);
  model->add({operands, machine, threads, terms});
  return terms;
}

bool HasKernelTerms(const std::string& kernel) { return features::FindModel(kernel) != nullptr; }

namespace {

/// Returns "conv" on the CPU, "opencl.conv" elsewhere: the same work takes other times there.
std::string KindModel(const ProfileOperands& operands) {
  const std::string kind = GetOpRow(operands.kind()).name;
  const std::string backend = operands.kernel().substr(0, operands.kernel().find('.'));
  return backend == "cpu" ? kind : fmt::format("{}.{}", backend, kind);
}

}  // namespace

CostTerms KindTerms(const ProfileOperands& operands, const MachineFacts& machine) {
  CostTerms terms;
  terms.model = KindModel(operands);
  terms.Add("start", 1);
  const OpWork work = GetOpHostRow(operands.kind()).work(operands.call());
  terms.Add("multiply_accumulates", static_cast<double>(work.multiply_accumulates));
  terms.Add("elementary_ops", static_cast<double>(work.elementary_ops));
  const auto bytes = static_cast<double>(work.bytes_read + work.bytes_written);
  terms.Add("bytes", bytes);
  features::AddTraffic({operands, machine, 1, terms}, bytes, bytes);
  return terms;
}

CostTerms InNetwork(const CostTerms& terms, double network_bytes, const MachineFacts& machine) {
  struct Source {
    features::Level beyond;
    const char* stalls;
    double bytes_per_cycle;  ///< during products, which decides where the stalls begin
    const char* bytes;       ///< for what products wait although they take longer
  };
  constexpr Source kSources[] = {
      {features::Level::kL1, "weight_l2_stalls", 32, "weight_l2_bytes"},
      {features::Level::kL2, "weight_l3_stalls", 16, "weight_l3_bytes"},
      {features::Level::kShareOfL3, "weight_far_stalls", 7, "weight_far_bytes"},
      {features::Level::kL3, "weight_memory_stalls", 4, "weight_memory_bytes"}};
  CostTerms placed;
  placed.model = terms.model;
  double weight_bytes = 0;
  double cycles = 0;
  for (const CostTerm& term : terms.terms) {
    if (term.name == "weight_bytes") {
      weight_bytes += term.amount;
    } else {
      placed.terms.push_back(term);
    }
    if (term.name == "tile_cycles") cycles = term.amount;
  }
  if (weight_bytes == 0) return placed;
  for (const Source& source : kSources) {
    const double bytes =
        weight_bytes * features::ShareBeyond(machine, source.beyond, network_bytes);
    placed.Add(source.stalls, std::max(0.0, bytes / source.bytes_per_cycle - cycles));
    placed.Add(source.bytes, bytes);
  }
  return placed;
}

void NetworkBytes::Add(const ProfileOperands& operands) {
  // Winograd's algorithm stores 36 coefficients for 9 weights, and two bytes for one.
  double packing = operands.kernel() == "cpu.conv.vector_winograd" ? 4 : 1;
  if (operands.kernel() == "cpu.quantized_conv.vector_winograd") packing = 8;
  const OpCall& call = operands.call();
  for (int i = 0; i < call.InputCount(); ++i) {
    if (!call.HasInput(i) || call.Input(i).data == nullptr) continue;
    if (!seen_.insert(call.Input(i).data).second) continue;
    constants_ += static_cast<double>(features::BytesOf(call.Input(i))) * packing;
  }
  activations_ = std::max(activations_, ActivationBytes(operands));
}

double ActivationBytes(const ProfileOperands& operands) {
  const OpCall& call = operands.call();
  auto bytes = static_cast<double>(BytesBesideElements(operands));
  for (int i = 0; i < call.InputCount(); ++i) {
    if (!call.HasInput(i) || call.Input(i).data != nullptr) continue;
    bytes += static_cast<double>(features::BytesOf(call.Input(i)));
  }
  for (size_t i = 0; i < call.output_ids.size(); ++i) {
    bytes += static_cast<double>(features::BytesOf(call.Output(static_cast<int>(i))));
  }
  return bytes;
}

namespace {

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

int VectorLanes() {
#if defined(__x86_64__)
  const bool has_avx512 =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (has_avx2 && has_avx512) return 16;
  if (has_avx2) return 8;
#endif
  return 4;
}

/// Returns the bytes of the last cache that the first processor reaches, as the system lists it; 0
/// where it does not. The C library makes it of what the processor says, which on virtual machines
/// may be the sum over all sockets.
int64_t ListedCacheBytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  int64_t kilobytes = 0;
  char unit = 0;
  if (!(file >> kilobytes >> unit) || unit != 'K') return 0;
  constexpr int64_t kKilobyte = 1024;
  return kilobytes * kKilobyte;
}

}  // namespace

MachineFacts ThisMachine() {
  MachineFacts machine;
  machine.processor = ProcessorName();
  machine.processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  machine.vector_lanes = VectorLanes();
  const long caches[3] = {sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE),
                          sysconf(_SC_LEVEL3_CACHE_SIZE)};
  for (int level = 0; level < 3; ++level) {
    if (caches[level] > 0) machine.cache_bytes[level] = caches[level];
  }
  if (const int64_t listed = ListedCacheBytes(); listed > 0) machine.cache_bytes[2] = listed;
  return machine;
}

}  // namespace tenon::converter
