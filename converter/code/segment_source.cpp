#include "converter/code/segment_source.hpp"

#include <map>
#include <set>

namespace tenon::converter {
namespace {

class SourceMaker {
 public:
  SourceMaker(const Graph& graph, const Locations& locations, const std::vector<OpId>& ops)
      : graph_(graph), locations_(locations), ops_(ops), inside_(ops.begin(), ops.end()) {}

  TracedSource Run() {
    FindOthers();
    for (const OpId id : ops_) {
      const Op& op = graph_.op(id);
      fpga::SourceOp source;
      source.name = op.name;
      source.kind = op.kind;
      source.attributes = op.attributes.words().data();
      for (const TensorId input : op.inputs) source.inputs.push_back(TensorOf(input));
      for (const TensorId output : op.outputs) source.outputs.push_back(TensorOf(output));
      result_.source.ops.push_back(std::move(source));
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] TensorId RootOf(TensorId id) const { return locations_.at(id).root; }

  /// Finds the blocks that others than the segment's ops read and write.
  void FindOthers() {
    for (const Graph::Port& port : graph_.inputs()) written_.insert(RootOf(port.tensor));
    for (const Graph::Port& port : graph_.outputs()) read_.insert(RootOf(port.tensor));
    for (const OpId id : graph_.OpOrder()) {
      if (locations_.elided[static_cast<size_t>(id)] || inside_.contains(id)) continue;
      for (const TensorId input : graph_.op(id).inputs) {
        if (input != kNone) read_.insert(RootOf(input));
      }
      for (const TensorId output : graph_.op(id).outputs) written_.insert(RootOf(output));
    }
  }

  /// `seen_as`: a tensor on it. Where that shows all of the block as an image, so does the block:
  /// an input that the model has with channels last is an image only to those who read it.
  int BlockOf(TensorId root, TensorId seen_as) {
    const auto [entry, added] = blocks_.emplace(root, static_cast<int>(result_.roots.size()));
    if (added) {
      const Tensor& tensor = graph_.tensor(root);
      fpga::SourceBlock block;
      block.name = tensor.name;
      block.dtype = tensor.dtype;
      const bool is_whole = ShowsWhole(root, seen_as);
      block.shape = graph_.tensor(is_whole ? seen_as : root).shape;
      block.strides = locations_.at(is_whole ? seen_as : root).strides;
      block.is_read = written_.contains(root);
      block.is_written = read_.contains(root);
      result_.source.blocks.push_back(std::move(block));
      result_.roots.push_back(root);
    }
    return entry->second;
  }

  [[nodiscard]] bool ShowsWhole(TensorId root, TensorId id) const {
    const Shape& shape = graph_.tensor(id).shape;
    return shape.rank == 4 && shape.Elements() == graph_.tensor(root).shape.Elements() &&
           locations_.at(id).offset == 0;
  }

  int TensorOf(TensorId id) {
    if (id == kNone) return -1;
    const auto [entry, added] =
        tensors_.emplace(id, static_cast<int>(result_.source.tensors.size()));
    if (!added) return entry->second;
    const Tensor& tensor = graph_.tensor(id);
    const Location& location = locations_.at(id);
    fpga::SourceTensor source;
    source.name = tensor.name;
    source.dtype = tensor.dtype;
    source.shape = tensor.shape;
    source.strides = location.strides;
    source.offset = location.offset;
    const Tensor& root = graph_.tensor(location.root);
    if (root.IsConstant()) {
      source.constant = root.constant->data() + location.offset;
    } else {
      source.block = BlockOf(location.root, id);
    }
    result_.source.tensors.push_back(std::move(source));
    return entry->second;
  }

  const Graph& graph_;
  const Locations& locations_;
  const std::vector<OpId>& ops_;
  std::set<OpId> inside_;
  std::set<TensorId> read_;     ///< roots, by others
  std::set<TensorId> written_;  ///< roots, by others
  TracedSource result_;
  std::map<TensorId, int> blocks_;
  std::map<TensorId, int> tensors_;
};

}  // namespace

TracedSource SourceOf(const Graph& graph, const Locations& locations, const std::vector<OpId>& ops,
                      const ArenaPlan* arena) {
  TracedSource traced = SourceMaker(graph, locations, ops).Run();
  if (arena == nullptr) return traced;
  std::map<TensorId, const PlannedStorage*> storage_of_root;
  for (const PlannedStorage& storage : arena->storages) storage_of_root[storage.root] = &storage;
  for (size_t i = 0; i < traced.roots.size(); ++i) {
    const auto found = storage_of_root.find(traced.roots[i]);
    if (found == storage_of_root.end() || found->second->on_chip) continue;
    traced.source.blocks[i].memory = found->second->arena;
    traced.source.blocks[i].place = found->second->offset;
  }
  return traced;
}

}  // namespace tenon::converter
