// Rows of a priority table as JSON: boards have them, and profiles with a measured table.
#pragma once

#include <nlohmann/json.hpp>

#include "converter/board/board.hpp"
#include "converter/board/object_reader.hpp"

namespace tenon::converter {

/// Faults go to the reader.
void ReadPriority(ObjectReader& reader, Priority& row);

/// What ReadPriority reads; constraints that any op meets are left out.
[[nodiscard]] nlohmann::ordered_json ToJson(const Priority& row);

}  // namespace tenon::converter
