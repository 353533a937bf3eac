// Everything that one attempt of differential fuzzing draws at random, as plain values: so that an
// attempt can be written down, made again, and made simpler one value at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenon::test {

/// How the plan is run.
enum class Way : uint8_t {
  kOnce,
  kSteps,     ///< one session, several steps; with `tied`, the state is kept
  kPipeline,  ///< a stream through the program "pipeline"
  kInter,     ///< a stream through the program "inter"
  kReplicas,  ///< a stream with two replicas of the sequential program
};

/// The defaults are the plainest attempt.
struct Choices {
  uint64_t seed = 1;             ///< of the graph, the inputs and the random board
  int most_ops = 14;             ///< the graph is a prefix of the seed's
  bool quantized = false;        ///< the graph computes with 8 bits; not made simpler
  std::string board = "x86-64";  ///< a built-in one, or "random"
  bool portable = true;          ///< kernels at conversion and run time
  bool fuse = true;
  bool aggregate = true;
  bool key_nodes = true;
  bool fallback = false;
  bool optimal_mapping = false;
  bool branches = false;  ///< ops are grouped even where that does not pay
  bool force_program = false;
  bool splits = true;
  int order = 0;          ///< converter::OrderMode
  int objective = 0;      ///< converter::Objective
  int limit_percent = 0;  ///< of the arena that the plan has without a limit; 0: no limit
  int threads = 1;
  bool bound = false;   ///< inputs and outputs in the caller's memory
  bool tied = false;    ///< outputs are inputs' states, where two have one type
  bool layers = false;  ///< recurrent layers and newer ops are added
  Way way = Way::kOnce;
};

/// The attempt number `seed` of its kind; the same every time.
[[nodiscard]] Choices Draw(uint64_t seed, bool quantized = false);

/// Attempts that are simpler by one value each.
[[nodiscard]] std::vector<Choices> Simpler(const Choices& choices);

/// The simplest choices that still fail, of those that single steps lead to. Requires that these
/// do.
[[nodiscard]] Choices Shrink(Choices choices, const std::function<bool(const Choices&)>& fails);

/// In words, with the values that are not the plainest.
[[nodiscard]] std::string Describe(const Choices& choices);

}  // namespace tenon::test
