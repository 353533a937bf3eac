#include "converter/layout/lower.hpp"

#include <utility>

#include "converter/layout/assign_locations.hpp"
#include "converter/layout/layouts.hpp"

namespace tenon::converter {

Status LocateTensors(Graph& graph, PassContext& context) {
  TENON_ASSIGN_OR_RETURN(context.locations, AssignLocations(graph, context.report));
  return {};
}

Result<Lowered> Lower(Graph& graph, const LowerOptions& options, std::vector<PassReport>& reports) {
  Lowered lowered;
  PassContext context;
  TENON_ASSIGN_OR_RETURN(lowered.mapping, ChooseKernels(graph, options.kernels));
  if (options.layouts) {
    LaidOutWeights own;
    LaidOutWeights& weights = options.laid_out != nullptr ? *options.laid_out : own;
    const auto assign = [&](Graph& changed, PassContext& pass) {
      return AssignLayouts(changed, weights, pass);
    };
    TENON_RETURN_IF_ERROR(RunPass({"assign-layouts", assign}, graph, context, reports));
    const auto lay_out = [&](Graph& changed, PassContext& pass) {
      return LayOutWeights(changed, weights, pass);
    };
    TENON_RETURN_IF_ERROR(RunPass({"lay-out-weights", lay_out}, graph, context, reports));
  }
  TENON_RETURN_IF_ERROR(RunPass(options.locate, graph, context, reports));
  lowered.locations = std::move(context.locations);
  if (options.fallback) {
    TENON_RETURN_IF_ERROR(ChooseFallbackKernels(graph, lowered.locations, options.kernels.threads,
                                                options.kernels.portable_only));
  }
  return lowered;
}

}  // namespace tenon::converter
