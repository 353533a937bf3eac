#include "converter/quantize/keep_float.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

namespace tenon::converter {
namespace {

/// Layers whose noise adds up.
class NoisyLayers {
 public:
  explicit NoisyLayers(std::vector<double> noise) : noise_(std::move(noise)) {}

  [[nodiscard]] std::vector<OpId> All() const {
    std::vector<OpId> all(noise_.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  [[nodiscard]] Accuracy With(const std::set<OpId>& integer) const {
    ++trials;
    double sum = 0;
    for (const OpId id : integer) sum += noise_[static_cast<size_t>(id)];
    Accuracy accuracy;
    accuracy.decibel = sum == 0 ? 200 : -10 * std::log10(sum);
    return accuracy;
  }
  [[nodiscard]] Accuracy Without(const std::set<OpId>& kept) const {
    std::set<OpId> integer;
    for (const OpId id : All()) {
      if (!kept.contains(id)) integer.insert(id);
    }
    return With(integer);
  }
  [[nodiscard]] std::vector<LayerNoise> Ranking() const {
    IntegerOps chosen;
    for (const OpId id : All()) chosen.ops.insert(id);
    auto ranking = RankLayers(chosen, All(), [&](const std::set<OpId>& layers) -> Result<Accuracy> {
      return With(layers);
    });
    REQUIRE(ranking.ok());
    return *ranking;
  }
  [[nodiscard]] std::vector<OpId> Kept(double decibel) const {
    AccuracyGoal goal;
    goal.decibel = decibel;
    auto kept = ChooseKept(Ranking(), goal, [&](const std::set<OpId>& layers) -> Result<Accuracy> {
      return Without(layers);
    });
    REQUIRE(kept.ok());
    return *kept;
  }
  mutable int trials = 0;

 private:
  std::vector<double> noise_;
};

TEST_CASE("RankLayers: the noisiest first, ties in the graph's order") {
  const NoisyLayers layers({1e-4, 1e-2, 1e-4, 1e-3});
  std::vector<OpId> order;
  for (const LayerNoise& entry : layers.Ranking()) order.push_back(entry.layer);
  CHECK(order == std::vector<OpId>{1, 3, 0, 2});
}

TEST_CASE("ChooseKept: just as many as the goal takes") {
  const NoisyLayers layers({1e-4, 1e-2, 1e-4, 5e-3, 1e-4, 1e-4});
  CHECK(layers.Kept(22) == std::vector<OpId>{1});
  CHECK(layers.Kept(30) == std::vector<OpId>{1, 3});
  CHECK(layers.Kept(35) == std::vector<OpId>{1, 3, 0});
}

TEST_CASE("ChooseKept: all layers if nothing less will do") {
  const NoisyLayers layers({1e-2, 1e-2, 1e-2});
  CHECK(layers.Kept(90).size() == 3);
}

TEST_CASE("ChooseKept: a layer that hurts only beside another one returns") {
  const NoisyLayers layers({1e-2, 5e-3, 1e-5});
  auto kept = ChooseKept(layers.Ranking(), AccuracyGoal{},
                         [&](const std::set<OpId>& float_layers) -> Result<Accuracy> {
                           std::set<OpId> silent = float_layers;
                           if (float_layers.contains(1)) silent.insert(0);
                           return layers.Without(silent);
                         });
  REQUIRE(kept.ok());
  CHECK(*kept == std::vector<OpId>{1});
}

TEST_CASE("ChooseKept: takes few trials among many layers") {
  std::vector<double> noise(200, 1e-6);
  for (size_t i = 0; i < 70; ++i) noise[i * 2] = 1e-3;
  const NoisyLayers layers(std::move(noise));
  CHECK(layers.Kept(31).size() == 70);
  CHECK(layers.trials < 200 + 70 + 20);
}

}  // namespace
}  // namespace tenon::converter
