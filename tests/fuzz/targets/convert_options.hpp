// What the first bytes of an input of the target `convert` choose: options of a conversion. All
// zeros are the defaults, so that most changes of one byte are one other choice.
#pragma once

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tenon/converter.hpp"
#include "tenon/inspect.hpp"

namespace tenon::fuzz {

inline constexpr size_t kOptionBytes = 8;

/// The choices of one byte, lowest bits first.
class Bits {
 public:
  explicit Bits(uint8_t byte) : left_(byte) {}
  /// A number below `count`, a power of two.
  unsigned Below(unsigned count) {
    const unsigned number = left_ % count;
    left_ /= count;
    return number;
  }
  bool Next() { return Below(2) == 1; }

 private:
  unsigned left_;
};

inline const char* BoardOf(uint8_t byte) {
  constexpr const char* kBoards[] = {"x86-64-avx2", "cortex-m55",    "x86-64",     "cortex-m7",
                                     "npu-3unit",   "cortex-m4",     "rk3588",     "x86-64-opencl",
                                     "kv260",       "x86-64-avx512", "cortex-m33", "cortex-m0plus"};
  return kBoards[byte % std::size(kBoards)];
}

/// 16 bytes to 8 MB of one of the board's memories.
inline void SetLimit(ConvertRequest& request, uint8_t byte, unsigned which) {
  if (byte == 0) return;
  for (const BoardSummary& board : BuiltInBoards()) {
    if (board.name != request.board) continue;
    const auto& spaces = board.memory_spaces;
    request.memory_limits[spaces[which % spaces.size()].name] = int64_t{1 + (byte & 15)}
                                                                << (4 + byte / 16);
  }
}

inline void SetSearch(ConvertRequest& request, uint8_t byte) {
  Bits bits(byte);
  request.objective = static_cast<ConvertRequest::Objective>(bits.Below(4) % 3);
  constexpr ConvertRequest::Order kOrders[] = {
      ConvertRequest::Order::kSearch, ConvertRequest::Order::kSource,
      ConvertRequest::Order::kRandom, ConvertRequest::Order::kSearch};
  request.order = kOrders[bits.Below(4)];
  request.fuse = !bits.Next();
  request.split = !bits.Next();
  request.memory_program = !bits.Next();
  request.force_memory_program = bits.Next();
}

inline void SetMapping(ConvertRequest& request, uint8_t byte) {
  constexpr const char* kWeights[] = {"model", "f16", "int8", "f32"};
  Bits bits(byte);
  request.weights = kWeights[bits.Below(4)];
  request.relax_limit = bits.Next();
  request.mapping.fallback = bits.Next();
  request.mapping.optimal = bits.Next();
  request.mapping.aggregate = !bits.Next();
  request.key_nodes = !bits.Next();
  request.parallel.fuse_branches = !bits.Next();
}

inline void SetParallel(ConvertRequest& request, uint8_t byte) {
  constexpr const char* kModes[] = {"auto",     "inter",       "pipeline",       "intra",
                                    "replicas", "intra+inter", "inter+replicas", "intra+replicas"};
  Bits bits(byte);
  request.parallel.mode = kModes[bits.Below(8)];
  request.parallel.threads = 1 + static_cast<int>(bits.Below(4));
  request.parallel.rows_per_call = bits.Below(4);
  request.parallel.balance = !bits.Next();
}

/// A port's type as requests name it; "" for what has none there.
inline std::string ElementName(const onnx::ValueInfoProto& port) {
  switch (port.type().tensor_type().elem_type()) {
    case onnx::TensorProto::FLOAT:
      return "f32";
    case onnx::TensorProto::FLOAT16:
      return "f16";
    case onnx::TensorProto::INT64:
      return "i64";
    case onnx::TensorProto::INT32:
      return "i32";
    case onnx::TensorProto::INT8:
      return "i8";
    case onnx::TensorProto::UINT8:
      return "u8";
    case onnx::TensorProto::BOOL:
      return "bool";
    default:
      return "";
  }
}

/// Small numbers for a port; nothing for one of more than 64 KB.
inline ConvertRequest::Constant ArrayFor(const onnx::ValueInfoProto& port, int64_t batch) {
  constexpr size_t kMostBytes = 65536;
  ConvertRequest::Constant array{ElementName(port), {}, {}};
  const bool is_float = array.dtype == "f32";
  size_t bytes = is_float || array.dtype == "i32" ? 4 : array.dtype == "i64" ? 8 : 1;
  if (array.dtype == "f16") bytes = 2;
  for (const auto& dim : port.type().tensor_type().shape().dim()) {
    const int64_t size = dim.has_dim_value() ? dim.dim_value() : std::max<int64_t>(batch, 1);
    if (size < 0 || (size > 0 && bytes > kMostBytes / static_cast<size_t>(size))) return {};
    array.shape.push_back(size);
    bytes *= static_cast<size_t>(size);
  }
  array.bytes.resize(bytes);
  for (size_t i = 0; is_float && i + 4 <= bytes; i += 4) {
    const float value = 0.25F * (static_cast<float>(i / 4 % 9) - 4.0F);
    std::memcpy(array.bytes.data() + i, &value, 4);
  }
  for (size_t i = 0; !is_float && array.dtype != "f16" && i < bytes; i += 8) {
    array.bytes[i] = static_cast<std::byte>(array.dtype == "bool" ? 1 : i / 8 % 3);
  }
  return array;
}

/// What happens at ports: the first or the last input and output.
inline void SetPorts(ConvertRequest& request, uint8_t byte, const onnx::GraphProto& graph,
                     bool last) {
  if (graph.input_size() == 0 || graph.output_size() == 0) return;
  constexpr const char* kFormats[] = {"u8,nhwc,mean=4,scale=0.5", "f32,nhwc", "i8"};
  constexpr const char* kLayouts[] = {"nhwc", "nchw", "nhwc"};
  constexpr const char* kFrom[] = {"memory", "rows:1", "rows:3"};
  const auto& input = graph.input(last ? graph.input_size() - 1 : 0);
  const auto& output = graph.output(last ? graph.output_size() - 1 : 0);
  Bits bits(byte);
  if (bits.Next()) {
    ConvertRequest::Constant array = ArrayFor(input, request.batch);
    if (!array.dtype.empty()) request.freeze[input.name()] = std::move(array);
  }
  if (bits.Next()) request.states = {{output.name(), input.name()}};
  if (const unsigned i = bits.Below(4); i > 0) {
    request.input_formats = {{input.name(), kFormats[i - 1]}};
  }
  if (const unsigned i = bits.Below(4); i > 0) {
    request.output_formats = {{output.name(), kLayouts[i - 1]}};
  }
  if (const unsigned i = bits.Below(4); i > 0) request.input_from = {{input.name(), kFrom[i - 1]}};
}

inline void SetQuantize(ConvertRequest& request, Bits& bits, const onnx::GraphProto& graph) {
  constexpr const char* kRanges[] = {"auto", "minmax", "mse", "percentile"};
  ConvertRequest::Quantize quantize;
  quantize.ranges = kRanges[bits.Below(4)];
  quantize.snr_db = bits.Next() ? 60 : 10;
  for (const auto& input : graph.input()) {
    ConvertRequest::Constant array = ArrayFor(input, request.batch);
    if (!array.dtype.empty()) quantize.samples[input.name()] = std::move(array);
  }
  request.quantize = std::move(quantize);
}

/// True if `--batch` has something to set.
inline bool HasFreeBatch(const onnx::GraphProto& graph) {
  for (const auto& input : graph.input()) {
    const auto& shape = input.type().tensor_type().shape();
    if (shape.dim_size() > 0 && !shape.dim(0).has_dim_value()) return true;
  }
  return false;
}

/// The request that the bytes choose, but for the path of the model.
inline ConvertRequest RequestOf(const uint8_t* options, const onnx::GraphProto& graph) {
  ConvertRequest request;
  request.max_memory = int64_t{16} << 20;
  request.order_budget = 500;
  request.time_limit_seconds = 2;
  Bits rest(options[7]);
  const int64_t batch = 1 + rest.Below(4) % 3;
  request.batch = HasFreeBatch(graph) ? batch : 0;
  request.board = BoardOf(options[0]);
  SetLimit(request, options[1], rest.Below(2));
  SetSearch(request, options[2]);
  SetMapping(request, options[3]);
  SetParallel(request, options[4]);
  SetPorts(request, options[5], graph, rest.Next());
  request.align_corners = rest.Next() ? "sizes" : "scales";
  request.subgraph_ops = 1 + static_cast<int>((rest.Below(8) + 3) % 8);
  Bits quantize(options[6]);
  if (quantize.Next()) SetQuantize(request, quantize, graph);
  return request;
}

}  // namespace tenon::fuzz
