// Stores what `tenon profile` has found about kernel variants: with which one an op runs fastest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "converter/cost/profile_operands.hpp"
#include "converter/map/variants.hpp"

namespace tenon::converter {

/// Names one op on one unit with the variant that was fastest there.
struct TunedOp {
  std::string op;  ///< see TuningKey
  std::string unit;
  std::string kernel;  ///< id
  std::string variant;
  double ms = 0;          ///< with the variant, once
  double default_ms = 0;  ///< with the default variant
};

/// Returns the op's ProfileSignature without the kernel, layouts and threads: none of them changes
/// much which variant is fastest, and views depend on the order of ops.
///   conv (f32[1,32,56,56], f32[64,32,1,1], f32[64]) -> f32[1,64,56,56] {activation=1}
[[nodiscard]] std::string TuningKey(const ProfileOperands& operands);

class Tuning : public VariantChoice {
 public:
  /// Returns false if the op has a row on this unit with this kernel already.
  bool Add(TunedOp row);
  [[nodiscard]] const std::vector<TunedOp>& rows() const { return rows_; }

  /// Returns the variant of the row of this very op; empty without one.
  [[nodiscard]] std::string VariantOf(const Graph& graph, const Op& op,
                                      const Unit& unit) const override;

 private:
  std::vector<TunedOp> rows_;
  std::map<std::string, std::string> variants_;  ///< by unit, kernel and op
};

}  // namespace tenon::converter
