// Handles variants of kernels: ways to run one op that differ only in speed (KernelCaps::variants).
#pragma once

#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Chooses the variant with which an op is run. Reading from several threads is safe.
class VariantChoice {
 public:
  VariantChoice() = default;
  VariantChoice(const VariantChoice&) = default;
  VariantChoice(VariantChoice&&) = default;
  VariantChoice& operator=(const VariantChoice&) = default;
  VariantChoice& operator=(VariantChoice&&) = default;
  virtual ~VariantChoice() = default;

  /// `op` has its kernel, and would run on `unit`. Empty: the kernel chooses for its device.
  [[nodiscard]] virtual std::string VariantOf(const Graph& graph, const Op& op,
                                              const Unit& unit) const = 0;
};

/// Chooses, for measuring, the variant at one place of each kernel's list, the same place for all
/// ops; ops that have fewer variants run with their default.
class VariantAt : public VariantChoice {
 public:
  explicit VariantAt(size_t place) : place_(place) {}
  [[nodiscard]] std::string VariantOf(const Graph& graph, const Op& op,
                                      const Unit& unit) const override;

 private:
  size_t place_;
};

/// Returns the names of the variants that the op's kernel has for it. Empty: it has none.
[[nodiscard]] std::vector<std::string> VariantsOf(const Graph& graph, const Op& op);

/// Sets the variant in `op.kernel` to the one that `choice` names; none if the kernel lacks it.
void UseVariant(const Graph& graph, Op& op, const Unit& unit, const VariantChoice& choice);

}  // namespace tenon::converter
