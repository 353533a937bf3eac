// The backends that a plan is opened with where its user gives none.
#pragma once

#include "runtime/base/span.hpp"
#include "runtime/format/plan_view.hpp"
#include "tenon/tenon.h"

namespace tenon::sdk {

/// Writes the CPU's backend and those of this build that the plan names, and returns how many.
/// Others are not looked for: a device's driver takes megabytes, and time to load.
size_t BackendsOfPlan(const PlanView& plan, Span<const tenon_backend*> backends);

}  // namespace tenon::sdk
