#include <unordered_set>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

int64_t Graph::ConstantBytes() const {
  constant_bytes_ = 0;
  std::unordered_set<const void*> counted;
  for (const TensorSlot& slot : tensors_) {
    const Bytes& bytes = slot.tensor.constant;
    if (!slot.alive || bytes == nullptr || !counted.insert(bytes.get()).second) continue;
    constant_bytes_ += static_cast<int64_t>(bytes->size());
  }
  return constant_bytes_;
}

Status CheckConstantLimit(const Graph& graph, int64_t more, std::string_view what) {
  const int64_t limit = graph.constant_limit;
  const auto fits = [&](int64_t bytes) { return bytes <= limit && more <= limit - bytes; };
  if (fits(graph.ConstantBytesAtMost()) || fits(graph.ConstantBytes())) return {};
  constexpr int64_t kMiB = int64_t{1} << 20;
  const int64_t needed = graph.ConstantBytesAtMost() + more;
  return Error{ErrorKind::kDoesNotFit,
               fmt::format("'{}': the model's constants would take {} bytes during conversion, {} "
                           "are allowed; at least --max-memory={}M is needed to go on",
                           what, needed, limit, (needed + kMiB - 1) / kMiB),
               {}};
}

}  // namespace tenon::converter
