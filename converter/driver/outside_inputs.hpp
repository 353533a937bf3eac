// Reads which inputs the caller keeps in memory of its own or hands in by rows, and prepares a
// graph for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converter/ir/outside_inputs.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

/// What --input-from says of an input.
struct InputFrom {
  std::string input;
  int32_t rows = 0;  ///< handed in at a time; 0: all of it lies in memory
};

/// Parses the text behind `NAME=`: "memory" or "rows:N". Errors: kUsage.
[[nodiscard]] Result<InputFrom> ParseInputFrom(std::string_view name, std::string_view text);

/// Finds the inputs that are named, in a graph whose ports do not change any more. What reads an
/// input that comes by rows gets a copy of it, which patches then are copies of some rows. Errors
/// (kUsage): no such input, one that is named twice or is state, rows that do not lie one after
/// another.
[[nodiscard]] Result<OutsideInputs> TakeInputsOutside(Graph& graph,
                                                      const std::vector<InputFrom>& inputs);

}  // namespace tenon::converter
