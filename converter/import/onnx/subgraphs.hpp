// Graphs inside nodes (the branches of If, the bodies of Loop and Scan): what they read of the
// graph around them, and copies of them under other names.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace onnx {
class GraphProto;
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace tenon::converter {

/// Loops whose iterations make more nodes than this, and functions whose calls do, are taken for a
/// mistake or an attack.
inline constexpr int64_t kMostInlinedNodes = 200000;

/// Values that a node needs: its inputs, and what the graphs inside it read from outside of
/// themselves. Absent inputs are left out.
[[nodiscard]] std::vector<std::string> ValuesRead(const onnx::NodeProto& node);

/// Names that a graph gives to its inputs, initialisers and nodes' outputs.
[[nodiscard]] std::vector<std::string> NamesMade(const onnx::GraphProto& graph);

/// How often the graph, and graphs inside its nodes, mention values or name nodes: a new name takes
/// memory each time.
[[nodiscard]] int64_t NamesMentioned(const onnx::GraphProto& graph);

/// Makes the initialisers of graphs inside nodes, under names of their own, those of the model's
/// graph: a loop's body is copied for every iteration. One that an input of its graph is called
/// like stays.
void HoistInitializers(onnx::ModelProto& model);

/// Renames values wherever the graph, and graphs inside its nodes, mention them. A graph inside
/// that gives one of the names itself keeps its own.
void RenameValues(onnx::GraphProto& graph, const std::unordered_map<std::string, std::string>& to);

}  // namespace tenon::converter
