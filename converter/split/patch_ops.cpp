#include "converter/split/patch_ops.hpp"

#include <fmt/format.h>

namespace tenon::converter {

Result<TensorId> PatchOps::Add(OpKind kind, const std::string& name,
                               const std::vector<TensorId>& inputs, const Attributes& attributes,
                               const std::string& source_ops) {
  Result<OpId> added = graph_.AddOp(kind, name, inputs, attributes, {name});
  if (!added.ok()) {
    return InternalError("a patch of the split is refused: {}: {}", name, added.error().message);
  }
  ops_.push_back(*added);
  if (!source_ops.empty()) graph_.MutableOp(*added).source_ops = source_ops;
  return graph_.op(*added).outputs[0];
}

Result<TensorId> PatchOps::Join(const std::vector<TensorId>& parts, int32_t axis,
                                const std::string& name) {
  if (parts.size() == 1) return parts[0];
  return Add(OpKind::kConcat, name, parts, Attributes(ConcatAttributes{axis}));
}

Result<TensorId> PatchOps::Slice(TensorId source, const RegionAxes& axes, const Region& region,
                                 const std::string& name) {
  const std::array<int32_t, 7> key = {source,
                                      axes.rows,
                                      region.rows.begin,
                                      region.rows.end,
                                      axes.columns,
                                      region.columns.begin,
                                      region.columns.end};
  if (const auto found = slices_.find(key); found != slices_.end()) return found->second;
  const Shape& shape = graph_.tensor(source).shape;
  SliceAttributes slice;
  slice.rank = shape.rank;
  for (int32_t i = 0; i < shape.rank; ++i) {
    slice.sizes[i] = shape[i];
    slice.steps[i] = 1;
  }
  const auto cut = [&](int32_t axis, const IndexRange& range) {
    if (axis < 0) return;
    slice.begins[axis] = range.begin;
    slice.sizes[axis] = range.size();
  };
  cut(axes.rows, region.rows);
  cut(axes.columns, region.columns);
  TENON_ASSIGN_OR_RETURN(const TensorId made,
                         Add(OpKind::kSlice, name, {source}, Attributes(slice)));
  slices_.emplace(key, made);
  return made;
}

}  // namespace tenon::converter
