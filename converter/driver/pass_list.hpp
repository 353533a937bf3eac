// Lists the passes that run before kernels are chosen, in their order and with the reason for it.
// Later passes are in layout/lower.cpp, since graphs that the converter runs itself need them too.
#pragma once

#include <vector>

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// A group of passes that run together. Conditions are evaluated when a phase begins.
enum class PassPhase {
  kAdapt,        ///< adapts dtypes to what the model's ops and the device's inputs use
  kClean,        ///< removes what importers and exporters leave behind
  kIntoWeights,  ///< folds ops into weights; runs only before a model is quantized
  kFuse,
  kStore,  ///< stores operands in the form that suits kernels best
};

enum class PassCondition {
  kAlways,
  kFusing,            ///< ConvertOptions::fuse
  kQuantized,         ///< the graph has quantized ops
  kQuantizedFusing,   ///< both of the above
  kWithInputFormats,  ///< PassContext::input_formats is not empty
};

struct ListedPass {
  PassPhase phase;
  PassCondition when;
  const char* name;
  PassFunction run;
  const char* reason;  ///< why it runs, and why at this place
  /// It makes models faster, and may need more memory: runs only with PassContext::for_time.
  bool for_time = false;
};

[[nodiscard]] const std::vector<ListedPass>& ListOfPasses();

/// Runs the passes of the phase whose conditions hold.
[[nodiscard]] Status RunPhase(PassPhase phase, bool fuse, Graph& graph, PassContext& context,
                              std::vector<PassReport>& reports);

/// Returns whether a pass has changed the graph that runs only with PassContext::for_time.
[[nodiscard]] bool HasPassesForTime(const std::vector<PassReport>& reports);

}  // namespace tenon::converter
