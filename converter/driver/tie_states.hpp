// Ties outputs of a model to its inputs (`--state`): what is kept from run to run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// An output's name, and the input that is to find in the next run what the output held. Before the
/// first run it is all zeros.
using TiedState = std::pair<std::string, std::string>;

/// Adds to Graph::states. Errors (kUsage): no such output or input, one that is tied already, or
/// two types or shapes.
[[nodiscard]] Status TieStates(const std::vector<TiedState>& ties, Graph& graph);

}  // namespace tenon::converter
