// Fits the time of each kernel's units of work to measured runs: bounded least squares on
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

/// Contains the milliseconds per unit of each term of one model that some sample had an amount of.
struct FittedModel {
  std::map<std::string, double> ms_per_unit;
  int64_t samples = 0;
  double error = 0;  ///< mean of |predicted / measured - 1| over the samples, by the terms alone

  /// Returns the sum of the terms. None if a term with an amount has no coefficient.
  [[nodiscard]] std::optional<double> PredictByTerms(const CostTerms& terms) const;
  /// Returns PredictByTerms times a correction factor from similar ops (Nadaraya-Watson regression
  /// of the logarithm of measured / predicted over the logarithms of the terms' amounts; far from
  /// all samples the factor is 1).
  [[nodiscard]] std::optional<double> Predict(const CostTerms& terms) const;
  /// Remembers how wrong the terms are for a measured op.
  void AddNeighbour(const CostTerms& terms, double ms);

 private:
  struct Neighbour {
    std::vector<double> place;  ///< by the terms in the order of ms_per_unit
    double log_factor;
  };
  [[nodiscard]] std::vector<double> PlaceOf(const CostTerms& terms) const;

  std::vector<Neighbour> neighbours_;
};

struct Calibration {
  struct Prediction {
    double ms = 0;
    double error = 0;  ///< FittedModel::error of the model that predicts
  };

  std::map<std::string, FittedModel> models;  ///< by CostTerms::model; kernels' and kinds'

  /// Predicts by the kernel's model, else by the kind's; none if neither was fitted. Never
  /// negative.
  [[nodiscard]] std::optional<Prediction> Predict(const CostTerms& kernel_terms,
                                                  const CostTerms& kind_terms) const;
  /// Returns the time that Predict gives.
  [[nodiscard]] std::optional<double> PredictMs(const CostTerms& kernel_terms,
                                                const CostTerms& kind_terms) const;
};

[[nodiscard]] Calibration Calibrate(const std::vector<CalibrationSample>& samples);

/// Gives every model its neighbours among the samples that it was fitted to, which a profile file
/// does not contain.
void AddNeighbours(const std::vector<CalibrationSample>& samples, Calibration& calibration);

/// Returns x with 0 <= x[c] <= most[c] that makes the sum of (rows[i] x - 1)^2 weights[i] small. It
/// uses coordinate descent until no coordinate alone improves the sum by more than a part in 10^9
/// (or for 20,000 rounds). All `rows` have as many entries as `most`. Exposed for tests.
[[nodiscard]] std::vector<double> BoundedFit(const std::vector<std::vector<double>>& rows,
                                             const std::vector<double>& weights,
                                             const std::vector<double>& most);

}  // namespace tenon::converter
