// What `tenon convert` prints of a conversion.
#pragma once

#include <string>

#include "converter/driver/pipeline.hpp"

namespace tenon::tool {

struct SummaryOptions {
  std::string plan;  ///< its file
  double seconds = 0;
  bool verbose = false;  ///< passes and the final graph too
};

/// A line for each thing that was decided, to standard output.
void PrintSummary(const converter::Conversion& conversion, const SummaryOptions& options);

}  // namespace tenon::tool
