#include "tests/fuzz/differential/choices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "converter/ir/elements.hpp"

namespace tenon::test {
namespace {

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  int Below(int count) { return static_cast<int>(random_.Next() % static_cast<uint64_t>(count)); }
  bool Chance(int percent) { return Below(100) < percent; }

 private:
  converter::SplitMix64 random_;
};

/// OpenCL rarely: its programs take a hundred times longer to compile than the rest to convert.
std::string DrawBoard(Dice& dice) {
  const int at = dice.Below(100);
  if (at < 45) return "x86-64";
  if (at < 75) return "random";
  if (at < 83) return "npu-3unit";
  if (at < 91) return "rk3588";
  if (at < 98) return "cortex-m55";
  return "x86-64-opencl";
}

/// Calls `visit` with the name and both values of every choice but the seed and the ops.
template <typename Visit>
void ForEach(Choices& choices, const Visit& visit) {
  Choices plain;
  visit("way", choices.way, plain.way);
  visit("tied", choices.tied, plain.tied);
  visit("layers", choices.layers, plain.layers);
  visit("board", choices.board, plain.board);
  visit("limit", choices.limit_percent, plain.limit_percent);
  visit("force_program", choices.force_program, plain.force_program);
  visit("branches", choices.branches, plain.branches);
  visit("optimal_mapping", choices.optimal_mapping, plain.optimal_mapping);
  visit("objective", choices.objective, plain.objective);
  visit("order", choices.order, plain.order);
  visit("threads", choices.threads, plain.threads);
  visit("fallback", choices.fallback, plain.fallback);
  visit("splits", choices.splits, plain.splits);
  visit("aggregate", choices.aggregate, plain.aggregate);
  visit("key_nodes", choices.key_nodes, plain.key_nodes);
  visit("bound", choices.bound, plain.bound);
  if (!choices.quantized) visit("fuse", choices.fuse, plain.fuse);
  visit("portable", choices.portable, plain.portable);
}

template <typename T>
std::string Words(const T& value) {
  return fmt::format("{}", value);
}
std::string Words(Way way) {
  constexpr const char* kNames[] = {"once", "steps", "pipeline", "inter", "replicas"};
  return kNames[static_cast<int>(way)];
}

}  // namespace

Choices Draw(uint64_t seed, bool quantized) {
  Dice dice(seed * 0x9E3779B9U + 11);
  Choices choices;
  choices.seed = seed;
  choices.quantized = quantized;
  choices.board = DrawBoard(dice);
  // Only this machine's own kernels can be run in its own way.
  choices.portable = choices.board.substr(0, 6) != "x86-64" || dice.Chance(30);
  choices.fuse = dice.Chance(85);
  choices.aggregate = dice.Chance(85);
  choices.key_nodes = dice.Chance(80);
  choices.fallback = dice.Chance(25);
  choices.optimal_mapping = dice.Chance(20);
  choices.branches = dice.Chance(50);
  choices.force_program = dice.Chance(25);
  choices.splits = dice.Chance(85);
  choices.order = dice.Below(3);
  choices.objective = dice.Below(3);
  if (dice.Chance(45)) choices.limit_percent = 25 + dice.Below(75);
  choices.threads = 1 + dice.Below(2);
  choices.bound = dice.Chance(25);
  choices.tied = dice.Chance(25);
  choices.way = static_cast<Way>(dice.Below(5));
  if (choices.tied) choices.way = Way::kSteps;
  choices.layers = dice.Chance(50);
  // Unfused, what lies between dequantize and quantize is computed with floats, and an element that
  // rounds the other way is a whole step of 8 bits; so it is between layers of floats.
  if (quantized) choices.fuse = true;
  if (quantized) choices.layers = false;
  return choices;
}

std::vector<Choices> Simpler(const Choices& choices) {
  std::vector<Choices> simpler;
  Choices changed = choices;
  ForEach(changed, [&](const char*, auto& value, const auto& plain) {
    if (value == plain) return;
    const auto before = value;
    value = plain;
    simpler.push_back(changed);
    value = before;
  });
  // Fewer ops come last: another graph often needs choices that did not matter before.
  for (const int ops : {choices.most_ops / 2, choices.most_ops - 1}) {
    if (ops < 1) continue;
    simpler.push_back(choices);
    simpler.back().most_ops = ops;
  }
  return simpler;
}

Choices Shrink(Choices choices, const std::function<bool(const Choices&)>& fails) {
  for (bool found = true; found;) {
    const std::vector<Choices> simpler = Simpler(choices);
    const auto failing = std::find_if(simpler.begin(), simpler.end(), fails);
    found = failing != simpler.end();
    if (found) choices = *failing;
  }
  return choices;
}

std::string Describe(const Choices& choices) {
  std::string text = fmt::format("seed {}, most_ops {}", choices.seed, choices.most_ops);
  if (choices.quantized) text += ", quantized";
  Choices copy = choices;
  ForEach(copy, [&](const char* name, const auto& value, const auto& plain) {
    if (value != plain) text += fmt::format(", {} {}", name, Words(value));
  });
  return text;
}

}  // namespace tenon::test
