// Makes a pipeline that fits the board's memory together with the sequential program.
#pragma once

#include <optional>
#include <string>

#include "converter/driver/compile.hpp"
#include "converter/stage/build_pipeline.hpp"

namespace tenon::converter {

struct FittedPipeline {
  std::optional<PipelineProgram> program;
  std::string why_not;  ///< empty if there is a program
};

/// `graph` is canonical, `sequential` the program of the same plan. Where the fastest kernels leave
/// the stages' arenas too little, stages run ops again; and where that does not do, kernels are
/// taken that pack less and need little workspace. Errors: as BuildPipeline, but what is kUsage
/// there is a reason here.
[[nodiscard]] Result<FittedPipeline> FitPipeline(const Graph& graph, const Compiled& sequential,
                                                 const PipelineOptions& options);

}  // namespace tenon::converter
