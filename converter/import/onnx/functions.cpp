#include "converter/import/onnx/functions.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <unordered_map>

#include "converter/import/onnx/model_file.hpp"
#include "converter/import/onnx/subgraphs.hpp"
#include "converter/import/value_names.hpp"

namespace tenon::converter {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Functions of functions of functions: more is a circle.
constexpr int kMostDepth = 64;

/// FunctionProto.attribute_proto, attributes with a default, which libonnx 1.12 does not know.
constexpr int kDefaultsField = 11;

std::string KeyOf(const std::string& domain, const std::string& name) {
  return (domain == "ai.onnx" ? "" : domain) + ":" + name;
}

struct AttributeValue {
  explicit AttributeValue(const onnx::AttributeProto& given)
      : attribute(given), bytes(static_cast<int64_t>(given.SpaceUsedLong())) {}
  onnx::AttributeProto attribute;
  int64_t bytes;  ///< that a copy takes
};

/// What an attribute of a node inside refers to, for one call of the function.
using AttributeValues = std::unordered_map<std::string, AttributeValue>;

AttributeValues ValuesOf(const onnx::FunctionProto& function, const onnx::NodeProto& call) {
  AttributeValues values;
  for (const auto& attribute : call.attribute()) values.emplace(attribute.name(), attribute);
  const auto& unknown = function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    onnx::AttributeProto attribute;
    if (field.number() == kDefaultsField &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        attribute.ParseFromString(field.length_delimited())) {
      values.emplace(attribute.name(), attribute);
    }
  }
  return values;
}

/// Gives attributes that refer to one of the call the value that it has. One without a value is
/// left out: the operator's own default is meant.
void SetAttributes(onnx::NodeProto& node, const AttributeValues& values) {
  auto& attributes = *node.mutable_attribute();
  int kept = 0;
  for (int i = 0; i < attributes.size(); ++i) {
    onnx::AttributeProto& attribute = *attributes.Mutable(i);
    if (attribute.has_g()) {
      for (auto& inner : *attribute.mutable_g()->mutable_node()) SetAttributes(inner, values);
    }
    if (!attribute.ref_attr_name().empty()) {
      const auto found = values.find(attribute.ref_attr_name());
      if (found == values.end()) continue;
      const std::string name = attribute.name();
      attribute = found->second.attribute;
      attribute.set_name(name);
    }
    attributes.SwapElements(kept++, i);
  }
  attributes.DeleteSubrange(kept, attributes.size() - kept);
}

/// Bytes of the values that SetAttributes gives to the nodes.
int64_t AttributeBytes(const Nodes& nodes, const AttributeValues& values) {
  int64_t bytes = 0;
  for (const auto& node : nodes) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) bytes += AttributeBytes(attribute.g().node(), values);
      const auto found = values.find(attribute.ref_attr_name());
      if (found != values.end()) bytes += found->second.bytes;
    }
  }
  return bytes;
}

/// The longest name that the call gives to something inside.
int64_t LongestName(const onnx::NodeProto& call, const std::string& scope) {
  size_t longest = scope.size();
  for (const std::string& input : call.input()) longest = std::max(longest, input.size());
  for (const std::string& output : call.output()) longest = std::max(longest, output.size());
  return static_cast<int64_t>(longest);
}

class Inliner {
 public:
  Inliner(const onnx::ModelProto& model, int64_t most_bytes)
      : opset_(DefaultOpset(model)), most_bytes_(most_bytes) {}

  /// Knows the functions by their names. They must outlive this.
  Status Add(const google::protobuf::RepeatedPtrField<onnx::FunctionProto>& functions) {
    for (const auto& function : functions) {
      if (!functions_.emplace(KeyOf(function.domain(), function.name()), &function).second) {
        return InputError("two functions are called '{}' (domain {})", function.name(),
                          function.domain());
      }
    }
    return {};
  }

  Status Expand(onnx::GraphProto& graph, int depth) {
    TakeNames(graph);
    return ExpandNodes(*graph.mutable_node(), depth);
  }

 private:
  void TakeNames(const onnx::GraphProto& graph) {
    for (const std::string& name : NamesMade(graph)) names_.Take(name);
  }

  const onnx::FunctionProto* FunctionOf(const onnx::NodeProto& node) const {
    const auto found = functions_.find(KeyOf(node.domain(), node.op_type()));
    return found == functions_.end() ? nullptr : found->second;
  }

  Status ExpandNodes(Nodes& nodes, int depth) {
    Nodes expanded;
    for (auto& node : nodes) {
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) TENON_RETURN_IF_ERROR(Expand(*attribute.mutable_g(), depth));
      }
      const onnx::FunctionProto* function = FunctionOf(node);
      if (function == nullptr) {
        expanded.Add()->Swap(&node);
      } else {
        TENON_RETURN_IF_ERROR(ExpandCall(node, *function, depth, expanded));
      }
    }
    nodes.Swap(&expanded);
    return {};
  }

  Status CheckCall(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                   int depth) const {
    if (depth == kMostDepth) {
      return InputError("function '{}' calls itself, or through others", function.name());
    }
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
      return InputError("function '{}' is called with {} inputs and {} outputs: it has {} and {}",
                        function.name(), call.input_size(), call.output_size(),
                        function.input_size(), function.output_size());
    }
    for (const auto& import : function.opset_import()) {
      const bool is_default = import.domain().empty() || import.domain() == "ai.onnx";
      if (is_default && import.version() != opset_) {
        return InputError(
            "function '{}' uses version {} of the ONNX operator set, the model version {}: let "
            "onnx.inliner.inline_local_functions(model, convert_version=True) inline it",
            function.name(), import.version(), opset_);
      }
    }
    return {};
  }

  /// Gives the values of graphs inside nodes names that nothing outside has: a value of the call
  /// by that name would be taken for theirs.
  void RenameInnerGraphs(Nodes& nodes, const std::string& scope) {
    for (auto& node : nodes) {
      for (auto& attribute : *node.mutable_attribute()) {
        if (!attribute.has_g()) continue;
        std::unordered_map<std::string, std::string> names;
        for (const std::string& name : NamesMade(attribute.g())) {
          names.emplace(name, names_.Fresh(fmt::format("{}/{}", scope, name)));
        }
        RenameValues(*attribute.mutable_g(), names);
        RenameInnerGraphs(*attribute.mutable_g()->mutable_node(), scope);
      }
    }
  }

  /// The names that the function's values have outside: inputs and outputs those of the call, the
  /// others new ones. Adds a copy for an output that is an input, or another output.
  std::unordered_map<std::string, std::string> NamesOf(const onnx::NodeProto& call,
                                                       const onnx::FunctionProto& function,
                                                       const onnx::GraphProto& body,
                                                       const std::string& scope, Nodes& copies) {
    std::unordered_map<std::string, std::string> names;
    for (int i = 0; i < function.input_size(); ++i) {
      names.emplace(function.input(i), i < call.input_size() ? call.input(i) : "");
    }
    for (int i = 0; i < call.output_size(); ++i) {
      if (call.output(i).empty()) continue;
      const auto [known, is_new] = names.emplace(function.output(i), call.output(i));
      if (is_new) continue;
      onnx::NodeProto& copy = *copies.Add();
      copy.set_op_type("Identity");
      copy.set_name(names_.Fresh(scope + "/" + function.output(i)));
      copy.add_input(known->second);
      copy.add_output(call.output(i));
    }
    for (const std::string& name : NamesMade(body)) {
      if (!names.contains(name))
        names.emplace(name, names_.Fresh(fmt::format("{}/{}", scope, name)));
    }
    return names;
  }

  Status TakeBytes(int64_t bytes) {
    bytes_ += bytes;
    if (nodes_ <= kMostInlinedNodes && bytes_ <= most_bytes_) return {};
    return InputError("the calls of functions stand for more than {} nodes, or {} bytes",
                      kMostInlinedNodes, most_bytes_);
  }

  Status ExpandCall(const onnx::NodeProto& call, const onnx::FunctionProto& function, int depth,
                    Nodes& expanded) {
    TENON_RETURN_IF_ERROR(CheckCall(call, function, depth));
    nodes_ += function.node_size();
    TENON_RETURN_IF_ERROR(TakeBytes(static_cast<int64_t>(function.SpaceUsedLong())));
    const std::string scope = call.name().empty() ? function.name() : call.name();
    const AttributeValues values = ValuesOf(function, call);
    onnx::GraphProto body;
    *body.mutable_node() = function.node();
    // A name, or a value of an attribute, is copied to wherever the function mentions it.
    TENON_RETURN_IF_ERROR(TakeBytes(NamesMentioned(body) * LongestName(call, scope)));
    TENON_RETURN_IF_ERROR(TakeBytes(AttributeBytes(body.node(), values)));
    RenameInnerGraphs(*body.mutable_node(), scope);
    Nodes copies;
    RenameValues(body, NamesOf(call, function, body, scope, copies));
    for (auto& node : *body.mutable_node()) {
      SetAttributes(node, values);
      if (!node.name().empty()) node.set_name(scope + "/" + node.name());
    }
    TENON_RETURN_IF_ERROR(ExpandNodes(*body.mutable_node(), depth + 1));
    for (auto& node : *body.mutable_node()) expanded.Add()->Swap(&node);
    for (auto& node : copies) expanded.Add()->Swap(&node);
    return {};
  }

  int opset_;
  int64_t most_bytes_;
  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;
  ValueNames names_;
  int64_t nodes_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace

Status InlineFunctions(onnx::ModelProto& model, int64_t most_bytes) {
  if (model.functions_size() == 0) return {};
  Inliner inliner(model, most_bytes);
  TENON_RETURN_IF_ERROR(inliner.Add(model.functions()));
  return inliner.Expand(*model.mutable_graph(), 0);
}

}  // namespace tenon::converter
