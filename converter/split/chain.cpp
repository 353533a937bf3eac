#include "converter/split/chain.hpp"

#include <algorithm>

namespace tenon::converter {

Chain Chain::Prefix(size_t count) const {
  Chain prefix;
  prefix.dimension = dimension;
  prefix.first = first;
  prefix.ops.assign(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(count));
  prefix.tensors.assign(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(count));
  for (ChainTensor& tensor : prefix.tensors) {
    const auto beyond =
        std::lower_bound(tensor.readers.begin(), tensor.readers.end(), static_cast<int32_t>(count));
    tensor.readers.erase(beyond, tensor.readers.end());
  }
  if (columns != nullptr) prefix.columns = std::make_shared<const Chain>(columns->Prefix(count));
  return prefix;
}

bool Chain::MayRecompute() const {
  return std::none_of(ops.begin(), ops.end(), [](const ChainOp& op) { return op.once; });
}

int32_t Chain::MostSharedRows() const {
  int32_t rows = 1;
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (IsShared(t)) rows = std::max(rows, tensors[t].rows);
  }
  return rows;
}

const char* Name(PatchPolicy policy) {
  switch (policy) {
    case PatchPolicy::kKeepRows:
      return "keep rows";
    case PatchPolicy::kKeepBuffer:
      return "keep buffer";
    case PatchPolicy::kKeepNarrow:
      return "keep narrow rows";
    case PatchPolicy::kRecompute:
      return "recompute";
  }
  return "";
}

}  // namespace tenon::converter
