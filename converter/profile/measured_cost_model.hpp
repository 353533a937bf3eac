// Takes costs from a profile: the measured time if this very op was measured, else the prediction
// of the calibrated model, else a time from the board's rates (docs/methods.md, C7).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "converter/cost/cost_model.hpp"
#include "converter/ir/locations.hpp"
#include "converter/profile/profile.hpp"

namespace tenon::converter {

/// Says where a time comes from.
enum class CostSource : uint8_t { kMeasured, kCalibrated, kAnalytic };

class MeasuredCostModel final : public CostModel {
 public:
  /// Both must outlive the model. With `locations` of the graph that will be queried, strides are
  /// those of the tensors' actual views; without, tensors count as dense.
  explicit MeasuredCostModel(const Profile& profile, const Locations* locations = nullptr);

  /// For a measured or calibrated op, `compute` is the whole time, and `fixed` and `bytes` are 0.
  [[nodiscard]] OpTime TimeOf(const Graph& graph, const Op& op, const Unit& unit) const override;

  /// Contains a time and its source. The rest is set for measured and calibrated ops.
  struct Estimate {
    CostSource source = CostSource::kAnalytic;
    double ms = 0;
    /// Expected, relative: the spread of the measurement, or what the calibration is off by on the
    /// mean of the ops that it was made from.
    double error = 0;
  };
  [[nodiscard]] Estimate EstimateOf(const Graph& graph, const Op& op, const Unit& unit) const;

 private:
  const Profile& profile_;
  const Locations* locations_;
  AnalyticCostModel analytic_;
  struct Measured {
    double ms = 0;
    double spread = 0;
  };
  std::unordered_map<std::string, Measured> measured_;  ///< by signature
  std::unordered_map<std::string, Measured> measured_without_strides_;
  std::unordered_map<std::string, bool> units_;  ///< names of units that were profiled

  [[nodiscard]] double BytesOf(const Graph& graph) const;

  // These belong to the graph that was queried last, which changes little between queries.
  mutable std::mutex network_mutex_;
  mutable const Graph* network_ = nullptr;
  mutable double network_bytes_ = 0;
};

/// Errors (kUsage): the profile was made for another board.
[[nodiscard]] Status CheckProfileFits(const Profile& profile, const Board& board);

/// Returns the cost model for conversions to `board`: measured with a profile, which must outlive
/// it and fit the board (see CheckProfileFits); analytic with null, but by counted instructions
/// where the board's kernels have tables of them and `locations`, as above, are known.
[[nodiscard]] std::unique_ptr<CostModel> MakeCostModel(const Board& board, const Profile* profile,
                                                       const Locations* locations = nullptr);

}  // namespace tenon::converter
