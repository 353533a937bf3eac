#include "sdk/tools/plan_json.hpp"

#include "sdk/tools/files.hpp"
#include "sdk/tools/tool.hpp"
#include "tenon/inspect.hpp"

namespace tenon::tool {

nlohmann::ordered_json ReadPlanJson(const std::string& path) {
  return PlanJson(ReadFile(path), path);
}

nlohmann::ordered_json PlanJson(const std::vector<uint8_t>& bytes, const std::string& path) {
  const auto inspection = InspectPlan(bytes);
  if (!inspection) FailWith(inspection.error(), path);
  return nlohmann::ordered_json::parse(inspection->json);
}

nlohmann::ordered_json JsonAt(const nlohmann::ordered_json& json, const char* pointer) {
  // value() throws where a list lies on the way.
  const nlohmann::ordered_json::json_pointer place(pointer);
  return json.contains(place) ? json.at(place) : nlohmann::ordered_json();
}

void FailDecisions() {
  Fail(kInputRefused, "the plan's record of decisions is damaged, or of another version of tenon");
}

}  // namespace tenon::tool
