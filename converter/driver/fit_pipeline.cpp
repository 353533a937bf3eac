#include "converter/driver/fit_pipeline.hpp"

#include <utility>

#include "converter/driver/fit_ways.hpp"
#include "converter/driver/memory_needs.hpp"

namespace tenon::converter {
namespace {

class Fitter {
 public:
  Fitter(const Graph& graph, const Compiled& sequential, const PipelineOptions& options)
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
      fitted.why_not = why_not_.empty() ? shortage_ : why_not_;
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
  return Fitter(graph, sequential, options).Run();
}

}  // namespace tenon::converter
