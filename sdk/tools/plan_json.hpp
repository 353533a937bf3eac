// A plan as JSON, for commands that explain and show it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tenon::tool {

/// What `tenon inspect --json` prints; `decisions` is null where the plan records none. Throws
/// Failure if the file is no plan.
[[nodiscard]] nlohmann::ordered_json ReadPlanJson(const std::string& path);
/// The same of a file's bytes; `path` is for messages.
[[nodiscard]] nlohmann::ordered_json PlanJson(const std::vector<uint8_t>& bytes,
                                              const std::string& path);

/// Returns what lies at a pointer, "/time/op_ms" say; null where nothing does.
[[nodiscard]] nlohmann::ordered_json JsonAt(const nlohmann::ordered_json& json,
                                            const char* pointer);

/// Throws Failure: `decisions` are JSON, but not what this version writes.
[[noreturn]] void FailDecisions();

}  // namespace tenon::tool
