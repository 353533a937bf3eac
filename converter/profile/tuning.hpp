// What `tenon profile` has found about variants of kernels: with which one an op runs fastest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "converter/cost/profile_operands.hpp"
#include "converter/map/variants.hpp"

namespace tenon::converter {

/// One op on one unit with the variant that won there.
struct TunedOp {
  std::string op;  ///< see TuningKey
  std::string unit;
  std::string kernel;  ///< id
  std::string variant;
  double ms = 0;          ///< with the variant, once
  double default_ms = 0;  ///< as the kernel does it unless told
};

/// The op's ProfileSignature without the kernel, places in memory and threads: none of them changes
/// which variant is fastest by much, and views come and go with the order of ops.
///   conv (f32[1,32,56,56], f32[64,32,1,1], f32[64]) -> f32[1,64,56,56] {activation=1}
[[nodiscard]] std::string TuningKey(const ProfileOperands& operands);

class Tuning : public VariantChoice {
 public:
  /// False if the op has a row on this unit with this kernel already.
  bool Add(TunedOp row);
  [[nodiscard]] const std::vector<TunedOp>& rows() const { return rows_; }

  /// The variant of the row of this very op; empty without one.
  [[nodiscard]] std::string VariantOf(const Graph& graph, const Op& op,
                                      const Unit& unit) const override;

 private:
  std::vector<TunedOp> rows_;
  std::map<std::string, std::string> variants_;  ///< by unit, kernel and op
};

}  // namespace tenon::converter
