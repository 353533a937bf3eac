#include "converter/profile/calibration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "converter/ir/elements.hpp"

namespace tenon::converter {
namespace {

double Uniform(SplitMix64& random) { return static_cast<double>(random.Next() >> 11) * 0x1p-53; }

CostTerms Terms(const std::string& model, double start, double work, double bytes) {
  CostTerms terms;
  terms.model = model;
  terms.Add("start", start);
  terms.Add("work", work);
  terms.Add("bytes", bytes);
  return terms;
}

double Objective(const std::vector<std::vector<double>>& rows, const std::vector<double>& weights,
                 const std::vector<double>& x) {
  double sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    double value = -1;
    for (size_t c = 0; c < x.size(); ++c) value += rows[i][c] * x[c];
    sum += weights[i] * value * value;
  }
  return sum;
}

/// Ops of a machine whose true figures are 2, 3 and 0.5.
std::vector<CalibrationSample> ExactSamples(int count, uint64_t seed = 1) {
  SplitMix64 random(seed);
  std::vector<CalibrationSample> samples;
  for (int i = 0; i < count; ++i) {
    const double work = std::exp(8 * Uniform(random));
    const double bytes = std::exp(8 * Uniform(random));
    const CostTerms terms = Terms("kernel", 1, work, bytes);
    samples.push_back({terms, Terms("kind", 1, work, bytes), 2 + 3 * work + 0.5 * bytes, 1});
  }
  return samples;
}

const std::vector<double> kNoBounds(2, std::numeric_limits<double>::infinity());

TEST_CASE("A fit finds the coefficients that exact samples were made with") {
  const Calibration calibration = Calibrate(ExactSamples(40));
  const FittedModel& model = calibration.models.at("kernel");
  CHECK(model.ms_per_unit.at("start") == doctest::Approx(2).epsilon(0.01));
  CHECK(model.ms_per_unit.at("work") == doctest::Approx(3).epsilon(0.001));
  CHECK(model.ms_per_unit.at("bytes") == doctest::Approx(0.5).epsilon(0.001));
  CHECK(model.error < 0.001);
  CHECK(model.samples == 40);
}

TEST_CASE("No coefficient is negative, and no other choice on a grid is better") {
  SplitMix64 random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::vector<double>> rows;
    std::vector<double> weights;
    for (int i = 0; i < 12; ++i) {
      rows.push_back({Uniform(random), 3 * Uniform(random)});
      weights.push_back(0.1 + Uniform(random));
    }
    const std::vector<double> fit = BoundedFit(rows, weights, kNoBounds);
    CHECK(std::min(fit[0], fit[1]) >= 0);
    double best = 1e300;
    for (int a = 0; a <= 300; ++a) {
      for (int b = 0; b <= 300; ++b)
        best = std::min(best, Objective(rows, weights, {a * 0.01, b * 0.01}));
    }
    CHECK(Objective(rows, weights, fit) <= best * (1 + 1e-4));
  }
}

TEST_CASE("A term that would have to be negative counts nothing") {
  // The second column only ever makes a row longer than the measurement.
  const std::vector<std::vector<double>> rows = {{1, 0}, {1, 1}, {0.9, 2}};
  const std::vector<double> fit = BoundedFit(rows, {1, 1, 1}, kNoBounds);
  CHECK(fit[1] < 0.1);
  const std::vector<std::vector<double>> opposed = {{1, 0}, {2, 1}};
  CHECK(BoundedFit(opposed, {1, 1}, kNoBounds)[1] == 0);
}

TEST_CASE("A coefficient at its bound leaves the rest to the others") {
  const std::vector<double> fit = BoundedFit({{1, 1}, {1, 1}}, {1, 1}, {0.25, 10});
  CHECK(fit[0] <= 0.25);
  CHECK(fit[0] + fit[1] == doctest::Approx(1).epsilon(0.001));
}

TEST_CASE("Few disturbed measurements change little") {
  std::vector<CalibrationSample> samples = ExactSamples(60);
  for (size_t i = 0; i < samples.size(); i += 12) samples[i].ms *= 6;
  const FittedModel model = Calibrate(samples).models.at("kernel");
  CHECK(model.ms_per_unit.at("work") == doctest::Approx(3).epsilon(0.1));
  CHECK(model.ms_per_unit.at("bytes") == doctest::Approx(0.5).epsilon(0.1));
}

/// Ops of 1 ns for a unit of work and 0.05 ns for a byte of weights from beyond the cache of
/// level 2. In the last six, measured while others used the machine, a thousandth of the bytes is
/// from memory.
std::vector<CalibrationSample> SamplesWithBusyMemory() {
  SplitMix64 random(3);
  std::vector<CalibrationSample> samples;
  for (int i = 0; i < 46; ++i) {
    const bool busy = i >= 40;
    const double work = 1e4 * std::exp(4 * Uniform(random));
    const double bytes = 1e3 * std::exp(4 * Uniform(random));
    CostTerms terms;
    terms.model = "kernel";
    terms.Add("work", work);
    terms.Add("weight_l3_bytes", bytes);
    terms.Add("weight_memory_bytes", busy ? bytes / 1000 : 0);
    samples.push_back({terms, terms, (1e-6 * work + 5e-8 * bytes) * (busy ? 1.5 : 1), 1});
  }
  return samples;
}

TEST_CASE("Few bytes from memory in samples that were disturbed do not make all bytes dear") {
  const Calibration calibration = Calibrate(SamplesWithBusyMemory());
  CostTerms terms;
  terms.model = "kernel";
  terms.Add("work", 1e6);
  terms.Add("weight_l3_bytes", 4e6);
  terms.Add("weight_memory_bytes", 1e6);
  const double without = 1e-6 * 1e6 + 5e-8 * 4e6;
  const std::optional<double> ms = calibration.models.at("kernel").PredictByTerms(terms);
  REQUIRE(ms.has_value());
  CHECK(*ms > 0.9 * without);
  CHECK(*ms < 2 * without);  // 150 times it, where nothing bounds the fit
}

TEST_CASE("Bytes from memory that take as long as memory may are predicted so") {
  SplitMix64 random(4);
  std::vector<CalibrationSample> samples;
  for (int i = 0; i < 40; ++i) {
    const double bytes = 1e5 * std::exp(4 * Uniform(random));
    const double far = bytes * Uniform(random);
    CostTerms terms;
    terms.model = "kernel";
    terms.Add("start", 1);
    terms.Add("l3_bytes", bytes);
    terms.Add("memory_bytes", far);
    samples.push_back({terms, terms, 1e-3 + 6e-8 * bytes + 5e-7 * far, 1});
  }
  const FittedModel model = Calibrate(samples).models.at("kernel");
  CHECK(model.ms_per_unit.at("memory_bytes") / 5e-7 == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("A cycle of stalls takes as long as on the slowest processor") {
  std::vector<CalibrationSample> samples;
  for (int i = 1; i <= 40; ++i) {
    CostTerms terms;
    terms.model = "kernel";
    terms.Add("start", 1);
    terms.Add("weight_l2_stalls", 0);
    terms.Add("weight_memory_stalls", 1000.0 * i);
    samples.push_back({terms, terms, 1e-3 + 1e-5 * 1000 * i, 1});  // at 100 MHz
  }
  const FittedModel model = Calibrate(samples).models.at("kernel");
  CHECK(model.ms_per_unit.at("weight_memory_stalls") / 1e-5 == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("An op is predicted by its kernel, else by its kind, else not at all") {
  const Calibration calibration = Calibrate(ExactSamples(40));
  const CostTerms op = Terms("kernel", 1, 100, 10);
  const CostTerms same_kind = Terms("kind", 1, 100, 10);
  const CostTerms unknown = Terms("another", 1, 100, 10);
  CHECK(*calibration.PredictMs(op, unknown) == doctest::Approx(307).epsilon(0.01));
  CHECK(*calibration.PredictMs(unknown, same_kind) == doctest::Approx(307).epsilon(0.01));
  CHECK_FALSE(calibration.PredictMs(unknown, unknown).has_value());
}

TEST_CASE("A term that no sample had cannot be predicted unless there is none of it") {
  const Calibration calibration = Calibrate(ExactSamples(20));
  CostTerms op = Terms("kernel", 1, 100, 10);
  op.Add("new", 0);
  CHECK(calibration.models.at("kernel").Predict(op).has_value());
  op.Add("newer", 3);
  CHECK_FALSE(calibration.models.at("kernel").Predict(op).has_value());
}

TEST_CASE("A term of which all samples had none is not free") {
  std::vector<CalibrationSample> samples = ExactSamples(20);
  for (CalibrationSample& sample : samples) {
    sample.kernel_terms.Add("strided", 0);
    sample.kernel_terms.Add("far_bytes", 0);
  }
  const Calibration calibration = Calibrate(samples);
  CostTerms op = Terms("kernel", 1, 100, 10);
  op.Add("strided", 50);
  const CostTerms kind = Terms("kind", 1, 1000, 10);
  CHECK(*calibration.PredictMs(op, kind) == doctest::Approx(3007).epsilon(0.01));
  // Bytes beyond a cache that no sample went beyond count as those before it.
  CostTerms far = Terms("kernel", 1, 100, 10);
  far.Add("far_bytes", 50);
  CHECK(*calibration.PredictMs(far, kind) == doctest::Approx(307).epsilon(0.01));
}

TEST_CASE("Where all ops of a class take longer than their terms say, so does one of them") {
  // A kernel with a step that the terms do not know of: large works take half as long again.
  SplitMix64 random(3);
  std::vector<CalibrationSample> samples;
  const auto true_ms = [](double work) { return (2 + 3 * work) * (work > 100 ? 1.5 : 1.0); };
  for (int i = 0; i < 200; ++i) {
    const double work = std::exp(9 * Uniform(random));
    const CostTerms terms = Terms("kernel", 1, work, 1);
    samples.push_back({terms, terms, true_ms(work), 1});
  }
  const FittedModel model = Calibrate(samples).models.at("kernel");
  for (const double work : {3.0, 20.0, 1000.0, 4000.0}) {
    const CostTerms op = Terms("kernel", 1, work, 1);
    const double by_terms = std::abs(*model.PredictByTerms(op) / true_ms(work) - 1);
    const double predicted = std::abs(*model.Predict(op) / true_ms(work) - 1);
    CHECK(predicted < 0.06);
    CHECK(predicted <= by_terms + 0.01);
  }
}

TEST_CASE("Far from all samples, the terms decide") {
  FittedModel model;
  model.ms_per_unit = {{"start", 1.0}, {"work", 1.0}};
  CostTerms near;
  near.Add("start", 1);
  near.Add("work", 10);
  CostTerms far = near;
  far.terms[1].amount = 1e6;
  model.AddNeighbour(near, 22);
  CHECK(*model.Predict(near) > 15);
  CHECK(*model.Predict(far) == doctest::Approx(1'000'001).epsilon(0.001));
}

TEST_CASE("The same samples give the same calibration") {
  const std::vector<CalibrationSample> samples = ExactSamples(50, 9);
  const Calibration a = Calibrate(samples);
  const Calibration b = Calibrate(samples);
  CHECK(a.models.at("kernel").ms_per_unit == b.models.at("kernel").ms_per_unit);
}

}  // namespace
}  // namespace tenon::converter
