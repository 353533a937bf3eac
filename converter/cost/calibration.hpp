// Fits the time of each kernel's units of work to measured runs: non-negative least squares on
// relative errors, robust against outliers. Deterministic.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converter/cost/features.hpp"

namespace tenon::converter {

struct CalibrationSample {
  CostTerms kernel_terms;
  CostTerms kind_terms;
  double ms = 0;
  double weight = 1;
};

/// Milliseconds per unit of each term of one model.
struct FittedModel {
  std::map<std::string, double> ms_per_unit;
  int64_t samples = 0;
  double error = 0;  ///< mean of |predicted / measured - 1| over the samples

  /// None if a term with an amount has no coefficient.
  [[nodiscard]] std::optional<double> Predict(const CostTerms& terms) const;
};

struct Calibration {
  std::map<std::string, FittedModel> models;  ///< by CostTerms::model; kernels' and kinds'

  /// By the kernel's model, else by the kind's; none if neither was fitted. Never negative.
  [[nodiscard]] std::optional<double> PredictMs(const CostTerms& kernel_terms,
                                                const CostTerms& kind_terms) const;
};

[[nodiscard]] Calibration Calibrate(const std::vector<CalibrationSample>& samples);

/// x >= 0 that makes the sum of (rows[i] x - 1)^2 weights[i] small: coordinate descent, after which
/// no coordinate alone improves it by more than a part in 10^9 (or 20,000 rounds). `rows` are all
/// of `columns` entries. Exposed for tests.
[[nodiscard]] std::vector<double> NonNegativeFit(const std::vector<std::vector<double>>& rows,
                                                 const std::vector<double>& weights,
                                                 size_t columns);

}  // namespace tenon::converter
