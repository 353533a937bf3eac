// JSON as the commands print it: members in the order in which they were added.
#pragma once

#include <nlohmann/json.hpp>

namespace tenon::tool {

using Json = nlohmann::ordered_json;

}  // namespace tenon::tool
