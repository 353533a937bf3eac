// The twin board, and options for pipelines of both of its units.
#pragma once

#include "converter/board/board.hpp"
#include "converter/stage/build_pipeline.hpp"
#include "tests/support/twin_backend.hpp"

namespace tenon::test {

/// The twin's units have equal rates, so that a pipeline of both is worth its while. The options
/// refer to the board.
struct TwinCase {
  converter::Board board = TwinBoard();
  converter::PipelineOptions options;

  TwinCase() {
    options.kernels.board = &board;
    options.kernels.backends = CpuAndTwin();
    options.kernels.portable_only = true;
  }
  TwinCase(const TwinCase&) = delete;
};

}  // namespace tenon::test
