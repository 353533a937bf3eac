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

std::vector<int8_t> StoredMap(const Graph& graph, const Evaluation& values,
                              converter::TensorId root) {
  const converter::Tensor& tensor = graph.tensor(root);
  const std::vector<std::byte>& bytes = values.values.at(root);
  const bool is_image = tensor.shape.rank == 4;
  const auto channels =
      static_cast<size_t>(is_image ? tensor.shape[1] : tensor.shape[tensor.shape.rank - 1]);
  const size_t pixels = bytes.size() / channels;
  const int flip = tensor.dtype == DType::kU8 ? 128 : 0;
  std::vector<int8_t> map(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t from = is_image ? i % channels * pixels + i / channels : i;
    map[i] = static_cast<int8_t>(static_cast<int>(bytes[from]) ^ flip);
  }
  return map;
}

}  // namespace tenon::test
