// Measured choices: which tile an op of one shape is run with, in place of the default.
//
// The file that the environment variable TENON_OPENCL_TUNING names holds one choice per line:
//   conv x1x32x112x112_w16x32x1x1_s1x1_d1x1_p0x0x0x0_g1 7x16
// the kind of op, its signature and the variant (tile_shapes.hpp). Lines that begin with # are
// comments. Of several lines for one op the last counts. A line that makes no sense, and a file
// that cannot be read, are left out without an error: tuning never decides whether a plan runs.
#pragma once

#include <map>
#include <string>

#include "backends/opencl/caps/tile_shapes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

/// What tells a convolution or product apart from those of other speed. No spaces.
[[nodiscard]] std::string ConvSignature(const OpCall& conv);
[[nodiscard]] std::string MatMulSignature(const OpCall& matmul);

class TuningTable {
 public:
  /// Takes the lines of a file's text.
  void Parse(const std::string& text);
  /// The tile for an op of `kind` ("conv", "matmul"), or null if none was chosen.
  [[nodiscard]] const TileShape* Find(const char* kind, const std::string& signature) const;
  [[nodiscard]] size_t size() const { return choices_.size(); }

 private:
  std::map<std::string, const TileShape*> choices_;  ///< by kind, space, signature
};

/// The table of the file that TENON_OPENCL_TUNING names now; empty without. Read at every call:
/// once per op that is loaded.
[[nodiscard]] TuningTable ReadTuning();

}  // namespace tenon::opencl
