// Makes a pipeline that fits the board's memory together with the sequential program.
#pragma once

#include <optional>
#include <string>

#include "converter/driver/compile.hpp"
#include "converter/driver/fit.hpp"
#include "converter/stage/build_pipeline.hpp"

namespace tenon::converter {

struct FittedPipeline {
  std::optional<PipelineProgram> program;
  std::string why_not;     ///< empty if there is a program
  bool too_large = false;  ///< that is why not: the arenas and what lies beside them
};

/// `graph` is canonical, `sequential` the program of the same plan. Where the fastest kernels leave
/// the stages' arenas too little, stages run ops again; and where that does not do, kernels are
/// taken that pack less and need little workspace. Errors: as BuildPipeline, but what is kUsage
/// there is a reason here.
[[nodiscard]] Result<FittedPipeline> FitPipeline(const Graph& graph, const Compiled& sequential,
                                                 const PipelineOptions& options);

/// As FitPipeline of what `fitted` was compiled from, with its patches and parts. Stages share the
/// memory that the sequential program has for itself: where they do not fit, `graph` is cut again
/// for a half, a third and a quarter of it, and the first that fits is taken. `compile`, `split`:
/// what `graph` was fitted with.
[[nodiscard]] Result<FittedPipeline> FitPipelineInParts(const Graph& graph, const Fitted& fitted,
                                                        const CompileOptions& compile,
                                                        const SplitOptions& split,
                                                        const PipelineOptions& options);

}  // namespace tenon::converter
