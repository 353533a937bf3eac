// Variants of kernels: ways to run one op that differ in speed alone (KernelCaps::variants).
#pragma once

#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Says with which variant an op is to be run. Reading from several threads is safe.
class VariantChoice {
 public:
  VariantChoice() = default;
  VariantChoice(const VariantChoice&) = default;
  VariantChoice(VariantChoice&&) = default;
  VariantChoice& operator=(const VariantChoice&) = default;
  VariantChoice& operator=(VariantChoice&&) = default;
  virtual ~VariantChoice() = default;

  /// `op` has its kernel, and would run on `unit`. Empty: as the kernel sees fit on its device.
  [[nodiscard]] virtual std::string VariantOf(const Graph& graph, const Op& op,
                                              const Unit& unit) const = 0;
};

/// For measuring: every op with the variant of its kernel at one place of its list, the same place
/// for all; ops that have fewer variants run as they would without.
class VariantAt : public VariantChoice {
 public:
  explicit VariantAt(size_t place) : place_(place) {}
  [[nodiscard]] std::string VariantOf(const Graph& graph, const Op& op,
                                      const Unit& unit) const override;

 private:
  size_t place_;
};

/// Names of the variants that the op may be run with by its kernel. Empty: it has none.
[[nodiscard]] std::vector<std::string> VariantsOf(const Graph& graph, const Op& op);

/// Sets the variant in `op.kernel` to the one that `choice` names; none if the kernel has no such.
void UseVariant(const Graph& graph, Op& op, const Unit& unit, const VariantChoice& choice);

}  // namespace tenon::converter
