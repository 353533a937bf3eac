// The page of tenon report.
#pragma once

#include <string>

namespace tenon::tool {

/// Returns the page of a plan file, which needs nothing else. `measured`: a trace file of a run, or
/// empty. Ends the program with a message where a file cannot be read.
[[nodiscard]] std::string ReportPage(const std::string& plan, const std::string& measured);

}  // namespace tenon::tool
