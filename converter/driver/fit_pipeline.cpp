#include "converter/driver/fit_pipeline.hpp"

#include <utility>

#include "converter/driver/fit_ways.hpp"
#include "converter/driver/memory_needs.hpp"

namespace tenon::converter {
namespace {

class PipelineFitter {
 public:
  PipelineFitter(const Graph& graph, const Compiled& sequential, const PipelineOptions& options)
      : graph_(graph), sequential_(sequential), options_(options), board_(options.board()) {}

  Result<FittedPipeline> Run() {
    TENON_RETURN_IF_ERROR(Try(options_));
    for (const int64_t limit : {board_.ArenaSpace()->usable_bytes(), int64_t{0}}) {
      if (fits_ || !why_not_.empty()) break;
      PipelineOptions lean = options_;
      lean.kernels = LeanKernels(lean.kernels, limit);
      lean.kernels.in_place = lean.kernels.least_workspace = true;
      TENON_RETURN_IF_ERROR(Try(lean));
    }
    FittedPipeline fitted;
    if (fits_) {
      fitted.program = std::move(fits_);
    } else {
      fitted.too_large = why_not_.empty();
      fitted.why_not = fitted.too_large ? shortage_ : why_not_;
    }
    return fitted;
  }

 private:
  /// Builds without a limit, and if that does not fit with what is left of it to the arenas.
  Status Try(PipelineOptions options) {
    TENON_ASSIGN_OR_RETURN(const int64_t left, Offer(options));
    if (fits_ || !why_not_.empty() || left <= 0) return {};
    options.memory_limit = left;
    return Offer(options).status();
  }

  /// Keeps the program if it fits. Returns the bytes that arenas may have.
  Result<int64_t> Offer(const PipelineOptions& options) {
    Result<PipelineProgram> built = BuildPipeline(graph_, options);
    if (!built.ok()) {
      if (built.error().kind != ErrorKind::kUsage) return built.error();
      why_not_ = built.error().message;
      return 0;
    }
    if (built->report.stages.size() < 2) {
      why_not_ = "one stage is best: more threads or units would be needed";
      return 0;
    }
    TENON_ASSIGN_OR_RETURN(
        const std::vector<SpaceNeed> needs,
        NeedsOf({SequentialProgram(sequential_, board_), built->ToEmit()}, board_));
    const SpaceNeed* shortage = FindShortage(needs, board_);
    if (shortage == nullptr) {
      fits_ = std::move(*built);
      return 0;
    }
    const int64_t usable = board_.FindSpace(shortage->space)->usable_bytes();
    shortage_ = fmt::format("it needs {} bytes of '{}', {} are available", shortage->bytes(),
                            shortage->space, usable);
    if (shortage->space != board_.ArenaSpace()->name) return 0;
    return usable - shortage->constants - shortage->packed;
  }

  const Graph& graph_;
  const Compiled& sequential_;
  const PipelineOptions& options_;
  const Board& board_;
  std::optional<PipelineProgram> fits_;
  std::string why_not_;   ///< for another reason than memory
  std::string shortage_;  ///< of the last one tried
};

}  // namespace

Result<FittedPipeline> FitPipeline(const Graph& graph, const Compiled& sequential,
                                   const PipelineOptions& options) {
  return PipelineFitter(graph, sequential, options).Run();
}

Result<FittedPipeline> FitPipelineInParts(const Graph& graph, const Fitted& fitted,
                                          const CompileOptions& compile, const SplitOptions& split,
                                          const PipelineOptions& options) {
  const Graph& whole = fitted.cut != nullptr ? *fitted.cut : graph;
  TENON_ASSIGN_OR_RETURN(FittedPipeline pipeline, FitPipeline(whole, fitted.compiled, options));
  if (!pipeline.too_large || !split.allowed) return pipeline;
  TENON_ASSIGN_OR_RETURN(const int64_t beside, BytesBesideArena(fitted.compiled, options.board()));
  const int64_t arenas = options.board().ArenaSpace()->usable_bytes() - beside;
  CompileOptions less = Quick(compile);
  less.branches.fuse = false;
  less.progress = nullptr;
  SplitOptions cut = split;
  cut.program = cut.force_program = cut.limit_asked = false;
  for (const int64_t share : {2, 3, 4}) {
    if (arenas / share <= 0) break;
    const Board board = WithLimit(options.board(), beside + arenas / share);
    less.kernels.board = &board;
    Result<Fitted> parts = CompileToFit(graph, less, cut);
    if (!parts.ok() && !IsTooLarge(parts.error())) return parts.error();
    if (!parts.ok() || parts->cut == nullptr) continue;
    TENON_ASSIGN_OR_RETURN(FittedPipeline found,
                           FitPipeline(*parts->cut, fitted.compiled, options));
    if (found.program) return found;
  }
  return pipeline;
}

}  // namespace tenon::converter
