// Reads and writes rows of a priority table as JSON, for boards and profiles with such a table.
#pragma once

#include <nlohmann/json.hpp>

#include "converter/board/board.hpp"
#include "converter/board/object_reader.hpp"

namespace tenon::converter {

/// Reads a row; errors are recorded in the reader.
void ReadPriority(ObjectReader& reader, Priority& row);

/// Writes what ReadPriority reads; constraints that any op meets are left out.
[[nodiscard]] nlohmann::ordered_json ToJson(const Priority& row);

}  // namespace tenon::converter
