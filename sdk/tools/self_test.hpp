// tenon profile --self-test: whether a board works.
#pragma once

#include <string>

#include "tenon/profiler.hpp"

namespace tenon::tool {

/// Runs the test and prints what was found; to a JSON file too, unless `output` is empty. Fails
/// with kNo where something is wrong, kDeviceFailure where a backend cannot be used.
void RunSelfTest(const SelfTestRequest& request, const std::string& output, bool quiet);

}  // namespace tenon::tool
