// A plan as JSON, for commands that explain and show it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tenon::tool {

/// What `tenon inspect --json` prints; `decisions` is null where the plan records none. Throws
/// Failure if the file is no plan.
[[nodiscard]] nlohmann::ordered_json ReadPlanJson(const std::string& path);

/// Throws Failure: `decisions` are JSON, but not what this version writes.
[[noreturn]] void FailDecisions();

}  // namespace tenon::tool
