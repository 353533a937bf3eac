#include "sdk/tools/plan_json.hpp"

#include "sdk/tools/files.hpp"
#include "sdk/tools/tool.hpp"
#include "tenon/inspect.hpp"

namespace tenon::tool {

nlohmann::ordered_json ReadPlanJson(const std::string& path) {
  const auto inspection = InspectPlan(ReadFile(path));
  if (!inspection) FailWith(inspection.error(), path);
  return nlohmann::ordered_json::parse(inspection->json);
}

void FailDecisions() {
  Fail(kInputRefused, "the plan's record of decisions is damaged, or of another version of tenon");
}

}  // namespace tenon::tool
