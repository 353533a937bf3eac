#include "converter/profile/tuning.hpp"

#include <utility>

#include "runtime/ops/kernel_name.hpp"

namespace tenon::converter {
namespace {

std::string KeyOf(const std::string& unit, const std::string& kernel, const std::string& op) {
  return fmt::format("{}\n{}\n{}", unit, kernel, op);
}

}  // namespace

std::string TuningKey(const ProfileOperands& operands) {
  std::string key = WithoutKernel(WithoutStrides(ProfileSignature(operands, 1)));
  key.resize(key.rfind(" threads="));
  return key;
}

bool Tuning::Add(TunedOp row) {
  if (!variants_.emplace(KeyOf(row.unit, row.kernel, row.op), row.variant).second) return false;
  rows_.push_back(std::move(row));
  return true;
}

std::string Tuning::VariantOf(const Graph& graph, const Op& op, const Unit& unit) const {
  if (rows_.empty()) return {};
  const ProfileOperands operands(graph, op, nullptr);
  const auto found = variants_.find(KeyOf(unit.name, operands.kernel(), TuningKey(operands)));
  return found == variants_.end() ? std::string() : found->second;
}

}  // namespace tenon::converter
