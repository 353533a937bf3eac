#include "converter/map/variants.hpp"

#include <algorithm>

#include "converter/map/backends.hpp"
#include "runtime/ops/kernel_name.hpp"

namespace tenon::converter {

std::vector<std::string> VariantsOf(const Graph& graph, const Op& op) {
  const KernelCaps& caps = CapsOf(op);
  if (caps.variants == nullptr) return {};
  constexpr int kMost = 256;
  const char* names[kMost];
  const OpCallView view(graph, op);
  const int count = caps.variants(view.call(), names, kMost);
  return {names, names + std::clamp(count, 0, kMost)};
}

std::string VariantAt::VariantOf(const Graph& graph, const Op& op, const Unit&) const {
  const std::vector<std::string> variants = VariantsOf(graph, op);
  return place_ < variants.size() ? variants[place_] : "";
}

void UseVariant(const Graph& graph, Op& op, const Unit& unit, const VariantChoice& choice) {
  op.kernel.resize(KernelIdLength(op.kernel.c_str()));
  const std::vector<std::string> known = VariantsOf(graph, op);
  if (known.empty()) return;
  const std::string variant = choice.VariantOf(graph, op, unit);
  if (std::find(known.begin(), known.end(), variant) == known.end()) return;
  op.kernel += kVariantMark;
  op.kernel += variant;
}

}  // namespace tenon::converter
