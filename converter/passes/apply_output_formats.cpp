#include "converter/passes/apply_output_formats.hpp"

#include <fmt/format.h>

#include <set>

#include "converter/ir/states.hpp"
#include "converter/passes/image_layouts.hpp"

namespace tenon::converter {
namespace {

Result<size_t> PortOf(const Graph& graph, const std::string& output) {
  std::string known;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const std::string& name = graph.outputs()[i].name;
    if (name == output) return i;
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", name);
  }
  return UsageError("output format of '{}': no such output; there are {}", output, known);
}

}  // namespace

Result<OutputFormat> ParseOutputFormat(std::string_view name, std::string_view text) {
  if (text != "nhwc" && text != "nchw") {
    return UsageError("output format of '{}': '{}' is neither nhwc nor nchw", name, text);
  }
  return OutputFormat{std::string(name), text == "nhwc"};
}

Status ApplyOutputFormats(Graph& graph, const std::vector<OutputFormat>& formats,
                          bool images_channels_last) {
  std::set<std::string> named;
  for (const OutputFormat& format : formats) {
    if (!named.insert(format.output).second) {
      return UsageError("output format of '{}': given twice", format.output);
    }
    TENON_ASSIGN_OR_RETURN(const size_t port, PortOf(graph, format.output));
    if (IsState(graph, /*output=*/true, format.output)) {
      return UsageError("output format of '{}': it is a state, and no output of the plan",
                        format.output);
    }
    const TensorId output = graph.outputs()[port].tensor;
    if (graph.tensor(output).shape.rank != 4) {
      return UsageError("output format of '{}': layouts are of rank 4, the output has rank {}",
                        format.output, graph.tensor(output).shape.rank);
    }
    if (format.channels_last == images_channels_last) continue;
    const TransposeAttributes transpose =
        TransposeBy(format.channels_last ? kToChannelsLast : kToChannelsFirst);
    const std::string name = format.output + ".turned";
    TENON_ASSIGN_OR_RETURN(const OpId turned, graph.AddOp(OpKind::kTranspose, name, {output},
                                                          Attributes(transpose), {name}));
    graph.SetPortTensor(/*output=*/true, port, graph.op(turned).outputs[0]);
  }
  return {};
}

}  // namespace tenon::converter
