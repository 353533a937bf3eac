#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "converter/import/onnx/lowering.hpp"
#include "converter/import/onnx/model_file.hpp"
#include "converter/import/onnx/subgraphs.hpp"
#include "converter/import/onnx/tensor_data.hpp"

namespace tenon::converter {
namespace {

/// Newest operator set and file version that libonnx 1.12 knows. Newer models are checked by the
/// lowerings alone.
constexpr int kCheckerOpset = 17;
constexpr int kCheckerIrVersion = 8;

bool IsDefaultDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

const std::string& NameOf(const onnx::NodeProto& node) {
  if (!node.name().empty() || node.output_size() == 0) return node.name();
  return node.output(0);
}

Status CheckOpset(const onnx::ModelProto& model) {
  const int opset = DefaultOpset(model);
  if (opset == 0) return InputError("the model does not say which version of ONNX it uses");
  if (opset < kOldestOpset || opset > kNewestOpset) {
    return InputError(
        "the model uses version {} of the ONNX operator set; versions {} to {} are "
        "known (convert it with another opset_version)",
        opset, kOldestOpset, kNewestOpset);
  }
  return {};
}

/// A message names so many nodes of an operator, each by so many characters of its name.
constexpr size_t kMostNamed = 64;
constexpr size_t kMostOfName = 60;

struct NodesOfOp {
  std::vector<std::string> names;  ///< of the first kMostNamed
  size_t count = 0;
};

/// By operator and domain.
using Unsupported = std::map<std::pair<std::string, std::string>, NodesOfOp>;

void FindUnsupported(const onnx::GraphProto& graph, Unsupported& unsupported) {
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) FindUnsupported(attribute.g(), unsupported);
    }
    if (FindLowering(node.domain(), node.op_type()) != nullptr) continue;
    const std::string domain = IsDefaultDomain(node.domain()) ? "ai.onnx" : node.domain();
    NodesOfOp& nodes = unsupported[{node.op_type(), domain}];
    if (nodes.count++ < kMostNamed) nodes.names.push_back(NameOf(node).substr(0, kMostOfName));
  }
}

/// Every node makes something: lowerings count on a first output.
Status CheckOutputs(const onnx::GraphProto& graph) {
  for (const auto& node : graph.node()) {
    if (node.output_size() == 0) {
      return InputError("node '{}' ({}) has no outputs", NameOf(node), node.op_type());
    }
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) TENON_RETURN_IF_ERROR(CheckOutputs(attribute.g()));
    }
  }
  return {};
}

Status CheckInitializers(const onnx::ModelProto& model, const std::filesystem::path& folder) {
  if (model.graph().sparse_initializer_size() > 0) {
    return InputError("sparse initialisers are not supported");
  }
  std::unordered_set<std::string> names;
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name().empty()) return InputError("an initialiser has no name");
    if (!names.insert(tensor.name()).second) {
      return InputError("two initialisers are called '{}'", tensor.name());
    }
    TENON_RETURN_IF_ERROR(CheckTensor(tensor, folder));
  }
  return {};
}

/// True for an operator that ONNX Runtime's optimiser saves among ONNX's own, which has no such.
bool IsOnnxRuntimes(const onnx::NodeProto& node) {
  return IsDefaultDomain(node.domain()) && node.op_type() == "SimplifiedLayerNormalization";
}

/// libonnx's checker, node by node: the graph around them (order, names, initialisers, external
/// data) has been checked here, with better messages and without reading files.
Status RunChecker(const onnx::ModelProto& model) {
  onnx::checker::CheckerContext context;
  context.set_ir_version(kCheckerIrVersion);
  std::unordered_map<std::string, int> opsets;
  for (const auto& import : model.opset_import()) {
    opsets[IsDefaultDomain(import.domain()) ? "" : import.domain()] =
        static_cast<int>(import.version());
  }
  context.set_opset_imports(opsets);
  // Graphs inside nodes may read whatever the graph around them makes.
  onnx::checker::LexicalScopeContext scope;
  for (const std::string& name : NamesMade(model.graph())) scope.add(name);
  for (const auto& node : model.graph().node()) {
    if (IsOnnxRuntimes(node)) continue;
    try {
      onnx::checker::check_node(node, context, scope);
    } catch (const std::exception& exception) {
      std::string problem = exception.what();
      problem = problem.substr(0, problem.find('\n'));
      return InputError("node '{}' ({}): {}", NameOf(node), node.op_type(), problem);
    }
  }
  return {};
}

/// Index of the node that makes each value.
using Producers = std::unordered_map<std::string, int>;

Result<Producers> FindProducers(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> given;
  std::unordered_set<std::string> inputs;
  for (const auto& tensor : graph.initializer()) given.insert(tensor.name());
  for (const auto& input : graph.input()) {
    if (input.name().empty()) return InputError("a graph input has no name");
    if (!inputs.insert(input.name()).second) {
      return InputError("two graph inputs are called '{}'", input.name());
    }
    given.insert(input.name());
  }
  Producers producers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (output.empty()) continue;
      if (given.count(output) != 0 || !producers.emplace(output, i).second) {
        return InputError("two producers of the value '{}', the second is node '{}' ({})", output,
                          NameOf(graph.node(i)), graph.node(i).op_type());
      }
    }
  }
  for (const auto& node : graph.node()) {
    for (const std::string& input : ValuesRead(node)) {
      if (given.count(input) == 0 && producers.count(input) == 0) {
        return InputError("node '{}' ({}): nothing makes its input '{}'", NameOf(node),
                          node.op_type(), input);
      }
    }
  }
  std::unordered_set<std::string> outputs;
  for (const auto& output : graph.output()) {
    if (given.count(output.name()) == 0 && producers.count(output.name()) == 0) {
      return InputError("nothing makes the graph output '{}'", output.name());
    }
    if (!outputs.insert(output.name()).second) {
      return InputError("two graph outputs are called '{}'", output.name());
    }
  }
  return producers;
}

}  // namespace

bool HasUnsupported(const onnx::GraphProto& graph) {
  return std::any_of(graph.node().begin(), graph.node().end(), [](const onnx::NodeProto& node) {
    return FindLowering(node.domain(), node.op_type()) == nullptr;
  });
}

Error UnsupportedError(const onnx::ModelProto& model) {
  Unsupported unsupported;
  FindUnsupported(model.graph(), unsupported);
  Error error =
      InputError("the model uses {} that cannot be converted",
                 unsupported.size() == 1 ? std::string("an operator")
                                         : fmt::format("{} operators", unsupported.size()));
  constexpr std::string_view kBlockedDomain = "com.microsoft.nchwc";
  const bool is_blocked =
      std::any_of(unsupported.begin(), unsupported.end(),
                  [&](const auto& entry) { return entry.first.second == kBlockedDomain; });
  if (is_blocked) {
    error.message +=
        ": ONNX Runtime saved it in the layout of one processor (domain com.microsoft.nchwc); save "
        "it with graph_optimization_level ORT_ENABLE_EXTENDED or lower";
  }
  for (const auto& [op, nodes] : unsupported) {
    error.details.push_back(fmt::format("unsupported op {} (domain {}): {}", op.first, op.second,
                                        fmt::join(nodes.names, ", ")));
    if (nodes.count > kMostNamed) {
      error.details.back() += fmt::format(" and {} more", nodes.count - kMostNamed);
    }
  }
  return error;
}

int DefaultOpset(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (IsDefaultDomain(import.domain())) {
      return static_cast<int>(std::clamp<int64_t>(import.version(), 0, 1 << 20));
    }
  }
  return 0;
}

Status SortNodes(onnx::ModelProto& model) {
  onnx::GraphProto& graph = *model.mutable_graph();
  TENON_ASSIGN_OR_RETURN(const Producers producers, FindProducers(graph));
  const auto count = static_cast<size_t>(graph.node_size());
  std::vector<int> missing(count, 0);
  std::vector<std::vector<int>> readers(count);
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : ValuesRead(graph.node(i))) {
      const auto found = producers.find(input);
      if (found == producers.end()) continue;
      readers[static_cast<size_t>(found->second)].push_back(i);
      ++missing[static_cast<size_t>(i)];
    }
  }
  // Smallest index first among the ready ones, so that a sorted model keeps its order.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) ready.push(static_cast<int>(i));
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> sorted;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    sorted.Add()->Swap(graph.mutable_node(next));
    for (int reader : readers[static_cast<size_t>(next)]) {
      if (--missing[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (missing[i] != 0) {
      const onnx::NodeProto& node = graph.node(static_cast<int>(i));
      return InputError("the graph has a cycle through node '{}' ({}), or one before it",
                        NameOf(node), node.op_type());
    }
  }
  graph.mutable_node()->Swap(&sorted);
  return {};
}

Status CheckModel(const onnx::ModelProto& model, const std::filesystem::path& folder) {
  // Those of a graph inside a node matter only where it is used, which its lowering finds out.
  if (HasUnsupported(model.graph())) return UnsupportedError(model);
  TENON_RETURN_IF_ERROR(CheckOutputs(model.graph()));
  TENON_RETURN_IF_ERROR(CheckOpset(model));
  TENON_RETURN_IF_ERROR(CheckInitializers(model, folder));
  if (model.graph().output_size() == 0) return InputError("the graph has no outputs");
  return DefaultOpset(model) <= kCheckerOpset ? RunChecker(model) : Status();
}

}  // namespace tenon::converter
