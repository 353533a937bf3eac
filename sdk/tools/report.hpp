// The page of tenon report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::tool {

/// Returns the page of a plan, which needs nothing else; `name` is the plan's file.
[[nodiscard]] std::string ReportPage(const std::vector<uint8_t>& plan, const std::string& name);

}  // namespace tenon::tool
