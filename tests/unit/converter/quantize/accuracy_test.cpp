#include "converter/quantize/accuracy.hpp"

#include <doctest/doctest.h>

#include "converter/quantize/trial.hpp"

namespace tenon::converter {
namespace {

TEST_CASE("SignalToNoise: an error of a thousandth in amplitude is 60 dB") {
  const float wanted[] = {1, -2, 4};
  const float got[] = {1.001F, -2.002F, 4.004F};
  SignalToNoise sum;
  sum.Add(wanted, got);
  CHECK(sum.Decibel() == doctest::Approx(60).epsilon(0.001));
  CHECK(sum.largest_error == doctest::Approx(0.004).epsilon(0.001));
}

TEST_CASE("SignalToNoise: no noise, and no signal") {
  const float zero[] = {0};
  const float one[] = {1};
  SignalToNoise exact;
  exact.Add(one, one);
  CHECK(exact.Decibel() == 200);
  SignalToNoise silent;
  silent.Add(zero, one);
  CHECK(silent.Decibel() == -200);
}

TEST_CASE("Compare: each output over all samples") {
  const OutputValues wanted = {{{1, 1}, {10}}, {{1, 1}, {10}}};
  const OutputValues got = {{{1, 1}, {10}}, {{1, 1.2F}, {10.1F}}};
  const auto outputs = Compare(wanted, got);
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0].Decibel() == doctest::Approx(20).epsilon(0.001));
  CHECK(outputs[1].Decibel() == doctest::Approx(43).epsilon(0.001));
}

TEST_CASE("WorstOfSamples: one bad sample is not hidden by louder ones; silence does not count") {
  const OutputValues wanted = {{{100}}, {{1}}, {{0}}};
  const OutputValues got = {{{100}}, {{1.1F}}, {{0.1F}}};
  CHECK(WorstOfSamples(wanted, got) == doctest::Approx(20).epsilon(0.001));
  CHECK(Compare(wanted, got)[0].Decibel() > 50);
}

TEST_CASE("TopClasses: of every row, ties to the first") {
  const OutputValues outputs = {{{0, 2, 1, 5, 5, 3}}, {{9, 2, 1, 0, 1, 3}}};
  CHECK(TopClasses(outputs, 3) == std::vector<int64_t>{1, 0, 0, 2});
  CHECK(CountEqual({1, 2, 3}, {1, 0, 3}) == 2);
}

TEST_CASE("Accuracy: labels count where there are enough of them, else the decibels") {
  Accuracy accuracy;
  accuracy.decibel = 20;
  CHECK(!accuracy.Reaches(AccuracyGoal{}));
  accuracy.decibel = 30;
  CHECK(accuracy.Reaches(AccuracyGoal{}));
  accuracy.labelled = 400;
  accuracy.float_right = 400;
  accuracy.right = 398;
  CHECK(!accuracy.Reaches(AccuracyGoal{}));
  accuracy.right = 399;
  accuracy.decibel = 20;
  CHECK(accuracy.Reaches(AccuracyGoal{}));
  accuracy.labelled = 100;
  CHECK(!accuracy.Reaches(AccuracyGoal{}));
}

}  // namespace
}  // namespace tenon::converter
