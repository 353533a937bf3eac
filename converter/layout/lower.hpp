// Lowers ops to what kernels run, in the same way for plans and for what the converter itself runs.
//
// Requires:   a graph of which every output is a tensor of its own (IsolateOutputs).
// Guarantees: kernels are chosen; layouts are assigned and weights laid out for them; it is known
//             which tensors are windows on others; with `fallback` every op of a device has a
//             kernel of the CPU too.
#pragma once

#include <vector>

#include "converter/ir/pass.hpp"
#include "converter/layout/layouts.hpp"
#include "converter/map/kernel_choice.hpp"

namespace tenon::converter {

/// Runs AssignLocations as the pass "assign-locations"; the result is PassContext::locations.
[[nodiscard]] Status LocateTensors(Graph& graph, PassContext& context);

struct LowerOptions {
  KernelChoiceOptions kernels;
  bool layouts =
      true;  ///< false: tensors and weights stay row-major, as portable kernels take them
  /// Sets PassContext::locations.
  Pass locate = {"assign-locations", LocateTensors};
  bool fallback = false;
  LaidOutWeights* laid_out = nullptr;  ///< shared with other programs; null: not shared
};

struct Lowered {
  std::vector<MappedOp> mapping;
  Locations locations;
};

/// Adds the reports of its passes. Errors: those of ChooseKernels and ChooseFallbackKernels.
[[nodiscard]] Result<Lowered> Lower(Graph& graph, const LowerOptions& options,
                                    std::vector<PassReport>& reports);

}  // namespace tenon::converter
