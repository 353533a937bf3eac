#include "tests/unit/backends/fpga/codegen/segment_values.hpp"

#include <random>

#include "converter/board/board.hpp"
#include "converter/layout/lower.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::test {

using converter::Graph;
using converter::OpId;

MappedGraph MapToAccelerator(Graph graph) {
  static const converter::Board board = *converter::LoadBoard("kv260");
  MappedGraph mapped;
  mapped.graph = std::move(graph);
  converter::LowerOptions options;
  options.kernels.board = &board;
  options.kernels.portable_only = true;
  std::vector<converter::PassReport> reports;
  auto lowered = converter::Lower(mapped.graph, options, reports);
  if (!lowered.ok()) {
    mapped.error = lowered.error().message;
    return mapped;
  }
  mapped.locations = std::move(lowered->locations);
  bool continues = false;
  for (const OpId id : mapped.graph.OpOrder()) {
    if (mapped.locations.elided[static_cast<size_t>(id)]) continue;
    const bool is_ours = mapped.graph.op(id).backend == "fpga";
    if (is_ours && !continues) mapped.segments.emplace_back();
    if (is_ours) mapped.segments.back().push_back(id);
    if (!is_ours) ++mapped.ops_elsewhere;
    continues = is_ours;
  }
  return mapped;
}

std::vector<std::vector<std::byte>> ByteInputs(const Graph& graph, uint64_t seed) {
  std::vector<std::vector<std::byte>> inputs = RandomInputs(graph, seed);
  std::mt19937 random(static_cast<uint32_t>(seed));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = graph.tensor(graph.inputs()[i].tensor).dtype;
    if (dtype != DType::kI8 && dtype != DType::kU8) continue;
    for (std::byte& byte : inputs[i]) byte = static_cast<std::byte>(random() & 255);
  }
  return inputs;
}

namespace {

/// Calls `visit(index, offset)` for each element: its place in row-major order, and in memory.
template <typename Visit>
void ForEachElement(const Shape& shape, const std::vector<int32_t>& strides, const Visit& visit) {
  for (int64_t i = 0; i < shape.Elements(); ++i) {
    int64_t rest = i;
    int64_t offset = 0;
    for (int k = shape.rank - 1; k >= 0; --k) {
      offset += rest % shape.dims[k] * strides[static_cast<size_t>(k)];
      rest /= shape.dims[k];
    }
    visit(static_cast<size_t>(i), static_cast<size_t>(offset));
  }
}

}  // namespace

std::vector<uint8_t> BlockBytes(const MappedGraph& mapped, const Evaluation& values,
                                const converter::TracedSource& traced, size_t block) {
  const converter::TensorId root = traced.roots[block];
  const std::vector<std::byte>& logical = values.values.at(root);
  std::vector<uint8_t> bytes(logical.size());
  ForEachElement(
      mapped.graph.tensor(root).shape, mapped.locations.at(root).strides,
      [&](size_t index, size_t offset) { bytes[offset] = static_cast<uint8_t>(logical[index]); });
  return bytes;
}

std::vector<int8_t> StoredMap(const fpga::SourceBlock& block, const std::vector<uint8_t>& bytes) {
  const Shape& shape = block.shape;
  const bool is_image = shape.rank == 4;
  const auto channels = static_cast<size_t>(is_image ? shape[1] : shape[shape.rank - 1]);
  const size_t pixels = bytes.size() / channels;
  const int flip = block.dtype == DType::kU8 ? 128 : 0;
  std::vector<int8_t> map(bytes.size());
  ForEachElement(shape, block.strides, [&](size_t index, size_t offset) {
    const size_t to = is_image ? index % pixels * channels + index / pixels : index;
    map[to] = static_cast<int8_t>(bytes[offset] ^ flip);
  });
  return map;
}

}  // namespace tenon::test
