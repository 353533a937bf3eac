// The passes that a model goes through before kernels are chosen, in their order and with the
// reason for it. Those after it are in layout/lower.cpp: what the converter runs itself needs them
// too.
#pragma once

#include <vector>

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// What runs together. Whether conditions hold is seen when a phase begins.
enum class PassPhase {
  kAdapt,        ///< numbers as the model's ops and the device's inputs have them
  kClean,        ///< what imported models carry along
  kIntoWeights,  ///< only before a model is quantized
  kFuse,
  kStore,  ///< operands in the form in which kernels take them best
};

enum class PassCondition {
  kAlways,
  kFusing,            ///< ConvertOptions::fuse
  kQuantized,         ///< the graph has quantized ops
  kQuantizedFusing,   ///< both
  kWithInputFormats,  ///< PassContext::input_formats is not empty
};

struct ListedPass {
  PassPhase phase;
  PassCondition when;
  const char* name;
  PassFunction run;
  const char* reason;  ///< why it runs, and runs there
};

[[nodiscard]] const std::vector<ListedPass>& ListOfPasses();

/// Runs the passes of the phase whose conditions hold.
[[nodiscard]] Status RunPhase(PassPhase phase, bool fuse, Graph& graph, PassContext& context,
                              std::vector<PassReport>& reports);

}  // namespace tenon::converter
