#include "converter/profile/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

namespace tenon::converter {
namespace {

/// Contains all samples of one model. Amounts are divided by the measured time, so that a fit of 1
/// is the measured time, and errors are relative.
struct ModelSamples {
  std::vector<std::string> names;
  std::vector<std::vector<double>> rows;
  std::vector<double> weights;

  void Add(const CostTerms& terms, double ms, double weight) {
    std::vector<double> row(names.size(), 0.0);
    for (const CostTerm& term : terms.terms) {
      const auto found = std::find(names.begin(), names.end(), term.name);
      const auto column = static_cast<size_t>(found - names.begin());
      if (found == names.end()) {
        names.emplace_back(term.name);
        row.push_back(0.0);
      }
      row[column] += term.amount / ms;
    }
    rows.push_back(std::move(row));
    weights.push_back(weight);
  }
};

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Where the bytes that a term counts come from.
struct ByteSource {
  std::string bytes;  ///< the term's name without the level's: "weight_bytes"
  size_t level = 0;   ///< the higher the farther; 0: all of them
};

std::optional<ByteSource> ByteSourceOf(const std::string& term) {
  constexpr std::string_view kLevels[] = {"l2_", "l3_", "far_", "memory_"};
  if (!term.ends_with("bytes")) return std::nullopt;
  for (size_t i = 0; i < std::size(kLevels); ++i) {
    const size_t at = term.find(kLevels[i]);
    if (at == std::string::npos || (at > 0 && term[at - 1] != '_')) continue;
    return ByteSource{term.substr(0, at) + term.substr(at + kLevels[i].size()), i + 1};
  }
  return ByteSource{term, 0};
}

/// The most that a unit of each term may take, by a fit so far. Bytes that come from farther away
/// are among those from nearer, and may add kMostRatio times what those take: else few such bytes
/// in ops that were measured while others used the machine would explain all their time. Stalls and
/// what is no traffic have no bound.
std::vector<double> MostPerUnit(const std::vector<std::string>& names,
                                const std::vector<double>& fit) {
  constexpr double kMostRatio = 10;
  constexpr double kSlowMemory = 5e-7;  // ms for a byte at 2 GB/s, which is always allowed
  std::vector<double> most(names.size(), std::numeric_limits<double>::infinity());
  for (size_t c = 0; c < names.size(); ++c) {
    const std::optional<ByteSource> source = ByteSourceOf(names[c]);
    if (!source.has_value()) continue;
    bool has_nearer = false;
    double nearer = 0;
    for (size_t other = 0; other < names.size(); ++other) {
      const std::optional<ByteSource> near = ByteSourceOf(names[other]);
      if (!near.has_value() || near->bytes != source->bytes) continue;
      if (near->level >= source->level) continue;
      has_nearer = true;
      nearer += fit[other];
    }
    if (has_nearer) most[c] = std::max(kSlowMemory, kMostRatio * nearer);
  }
  return most;
}

FittedModel Fit(ModelSamples samples) {
  const size_t columns = samples.names.size();
  for (std::vector<double>& row : samples.rows) row.resize(columns, 0.0);
  // Samples far from the fit (a disturbed measurement, an op that the model does not describe)
  // count less in the next round.
  constexpr int kRounds = 8;
  constexpr double kOutlier = 0.15;
  std::vector<double> weights = samples.weights;
  std::vector<double> fit(columns, 0.0);
  for (int round = 0; round < kRounds; ++round) {
    fit = BoundedFit(samples.rows, weights, MostPerUnit(samples.names, fit));
    for (size_t i = 0; i < samples.rows.size(); ++i) {
      const double residual = std::abs(Dot(samples.rows[i], fit) - 1);
      weights[i] = samples.weights[i] * (residual <= kOutlier ? 1.0 : kOutlier / residual);
    }
  }
  FittedModel model;
  model.samples = static_cast<int64_t>(samples.rows.size());
  for (const std::vector<double>& row : samples.rows) {
    model.error += std::abs(Dot(row, fit) - 1) / static_cast<double>(model.samples);
  }
  for (size_t c = 0; c < columns; ++c) {
    const bool is_known = std::any_of(samples.rows.begin(), samples.rows.end(),
                                      [&](const std::vector<double>& row) { return row[c] > 0; });
    // Bytes farther away than any sample's are taken to come from where the farthest did.
    if (is_known || IsTraffic(samples.names[c])) model.ms_per_unit[samples.names[c]] = fit[c];
  }
  return model;
}

}  // namespace

std::vector<double> BoundedFit(const std::vector<std::vector<double>>& rows,
                               const std::vector<double>& weights,
                               const std::vector<double>& most) {
  const size_t columns = most.size();
  // Columns are scaled to unit length: their units differ by many orders of magnitude.
  std::vector<double> scale(columns, 0.0);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t c = 0; c < columns; ++c) scale[c] += weights[i] * rows[i][c] * rows[i][c];
  }
  for (double& value : scale) value = value > 0 ? 1 / std::sqrt(value) : 0.0;
  std::vector<std::vector<double>> gram(columns, std::vector<double>(columns, 0.0));
  std::vector<double> target(columns, 0.0);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t a = 0; a < columns; ++a) {
      const double scaled = weights[i] * rows[i][a] * scale[a];
      target[a] += scaled;
      for (size_t b = 0; b < columns; ++b) gram[a][b] += scaled * rows[i][b] * scale[b];
    }
  }
  constexpr int kMostRounds = 20'000;
  constexpr double kStill = 1e-10;
  // Makes terms that the samples cannot distinguish share the time.
  constexpr double kRidge = 1e-6;
  std::vector<double> fit(columns, 0.0);
  for (int round = 0; round < kMostRounds; ++round) {
    double moved = 0;
    for (size_t a = 0; a < columns; ++a) {
      if (scale[a] == 0) continue;
      double gradient = target[a] - kRidge * fit[a];
      for (size_t b = 0; b < columns; ++b) gradient -= gram[a][b] * fit[b];
      const double next =
          std::clamp(fit[a] + gradient / (gram[a][a] + kRidge), 0.0, most[a] / scale[a]);
      moved = std::max(moved, std::abs(next - fit[a]));
      fit[a] = next;
    }
    const double largest = fit.empty() ? 0.0 : *std::max_element(fit.begin(), fit.end());
    if (moved <= kStill * largest) break;
  }
  for (size_t c = 0; c < columns; ++c) fit[c] *= scale[c];
  return fit;
}

std::vector<double> FittedModel::PlaceOf(const CostTerms& terms) const {
  std::vector<double> place(ms_per_unit.size(), 0.0);
  for (const CostTerm& term : terms.terms) {
    const auto found = ms_per_unit.find(term.name);
    if (found == ms_per_unit.end()) continue;
    const auto index = static_cast<size_t>(std::distance(ms_per_unit.begin(), found));
    place[index] = std::log1p(term.amount);
  }
  return place;
}

void FittedModel::AddNeighbour(const CostTerms& terms, double ms) {
  const std::optional<double> predicted = PredictByTerms(terms);
  if (!predicted.has_value() || !(*predicted > 0) || !(ms > 0)) return;
  neighbours_.push_back({PlaceOf(terms), std::log(ms / *predicted)});
}

std::optional<double> FittedModel::Predict(const CostTerms& terms) const {
  const std::optional<double> predicted = PredictByTerms(terms);
  if (!predicted.has_value() || neighbours_.empty()) return predicted;
  // Amounts that differ by a factor of e^0.5 in one term are half as near.
  constexpr double kReach = 0.5;
  // This is the weight of the assumption that the terms alone are right.
  constexpr double kPrior = 0.25;
  const std::vector<double> place = PlaceOf(terms);
  double sum = 0;
  double weights = kPrior;
  for (const Neighbour& neighbour : neighbours_) {
    double distance = 0;
    for (size_t i = 0; i < place.size(); ++i) {
      const double difference = (place[i] - neighbour.place[i]) / kReach;
      distance += difference * difference;
    }
    const double weight = 1 / ((1 + distance) * (1 + distance));
    sum += weight * neighbour.log_factor;
    weights += weight;
  }
  return *predicted * std::exp(sum / weights);
}

std::optional<double> FittedModel::PredictByTerms(const CostTerms& terms) const {
  double ms = 0;
  for (const CostTerm& term : terms.terms) {
    if (term.amount == 0) continue;
    const auto found = ms_per_unit.find(term.name);
    if (found == ms_per_unit.end()) return std::nullopt;
    ms += found->second * term.amount;
  }
  return ms;
}

std::optional<Calibration::Prediction> Calibration::Predict(const CostTerms& kernel_terms,
                                                            const CostTerms& kind_terms) const {
  for (const CostTerms* terms : {&kernel_terms, &kind_terms}) {
    const auto found = models.find(terms->model);
    if (found == models.end()) continue;
    if (const auto ms = found->second.Predict(*terms)) return Prediction{*ms, found->second.error};
  }
  return std::nullopt;
}

std::optional<double> Calibration::PredictMs(const CostTerms& kernel_terms,
                                             const CostTerms& kind_terms) const {
  const std::optional<Prediction> prediction = Predict(kernel_terms, kind_terms);
  return prediction ? std::optional(prediction->ms) : std::nullopt;
}

Calibration Calibrate(const std::vector<CalibrationSample>& samples) {
  std::map<std::string, ModelSamples> by_model;
  for (const CalibrationSample& sample : samples) {
    if (!(sample.ms > 0)) continue;
    by_model[sample.kernel_terms.model].Add(sample.kernel_terms, sample.ms, sample.weight);
    if (sample.kind_terms.model != sample.kernel_terms.model) {
      by_model[sample.kind_terms.model].Add(sample.kind_terms, sample.ms, sample.weight);
    }
  }
  Calibration calibration;
  for (auto& [name, model_samples] : by_model) {
    calibration.models[name] = Fit(std::move(model_samples));
  }
  AddNeighbours(samples, calibration);
  return calibration;
}

void AddNeighbours(const std::vector<CalibrationSample>& samples, Calibration& calibration) {
  for (const CalibrationSample& sample : samples) {
    for (const CostTerms* terms : {&sample.kernel_terms, &sample.kind_terms}) {
      const auto found = calibration.models.find(terms->model);
      if (found != calibration.models.end()) found->second.AddNeighbour(*terms, sample.ms);
    }
  }
}

}  // namespace tenon::converter
