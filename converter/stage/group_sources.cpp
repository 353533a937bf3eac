#include "converter/stage/group_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#ifdef TENON_HAS_OPENCL_CODEGEN
#include "backends/opencl/codegen/group_source.hpp"
#endif

namespace tenon::converter {
namespace {

constexpr char kOpencl[] = "opencl";

}  // namespace

LocatedCall::LocatedCall(const Graph& graph, const Locations& locations, const Op& op) {
  views_.reserve(op.inputs.size() + op.outputs.size());
  const auto add = [&](TensorId id) {
    const Tensor& tensor = graph.tensor(id);
    TensorView view;
    view.dims = tensor.shape.dims;
    view.strides = locations.at(id).strides.data();
    view.dtype = tensor.dtype;
    view.rank = static_cast<uint8_t>(tensor.shape.rank);
    if (tensor.IsConstant()) view.data = const_cast<std::byte*>(tensor.constant->data());
    views_.push_back(view);
    return static_cast<int32_t>(views_.size()) - 1;
  };
  for (const TensorId id : op.inputs) inputs_.push_back(id == kNone ? -1 : add(id));
  for (const TensorId id : op.outputs) outputs_.push_back(add(id));
  call_ =
      OpCall{views_.data(), Span<const int32_t>(inputs_.data(), inputs_.size()),
             Span<const int32_t>(outputs_.data(), outputs_.size()), op.attributes.words().data()};
}

#ifdef TENON_HAS_OPENCL_CODEGEN

GroupNeed GroupNeedOf(const Graph& graph, const Locations& locations, const Op& op) {
  if (op.backend == "cpu") return {};
  if (op.backend != kOpencl) {
    return {fmt::format("backend '{}' starts ops one by one", op.backend), 0};
  }
  const LocatedCall located(graph, locations, op);
  const opencl::LoweredOp lowered = opencl::LowerOp(op.kind, op.kernel.c_str(), located.call());
  GroupNeed need;
  if (lowered.why_not != nullptr) need.why_not = lowered.why_not;
  // Each phase has a kernel of its own: what counts is the largest.
  int32_t of_phase[opencl::kMostPhases] = {};
  for (const opencl::SubKernel& launch : lowered.launches) {
    of_phase[launch.phase] += opencl::ParameterBytes(launch);
  }
  need.parameter_bytes = *std::max_element(std::begin(of_phase), std::end(of_phase));
  return need;
}

int32_t MostParameterBytes(const std::string& backend) {
  return backend == kOpencl ? opencl::kMostParameterBytes : INT32_MAX;
}

std::vector<GroupSource> MakeGroupSources(const Graph& graph, const Locations& locations,
                                          const std::vector<std::vector<OpId>>& groups) {
  std::vector<GroupSource> sources;
  for (const std::vector<OpId>& group : groups) {
    if (graph.op(group[0]).backend != kOpencl) continue;
    GroupSource source;
    source.ops = group;
    std::vector<opencl::SubKernel> launches;
    for (const OpId id : group) {
      const Op& op = graph.op(id);
      const LocatedCall located(graph, locations, op);
      for (opencl::SubKernel& launch :
           opencl::LowerOp(op.kind, op.kernel.c_str(), located.call()).launches) {
        source.arguments.push_back(opencl::ParameterCount(launch));
        launches.push_back(std::move(launch));
      }
    }
    source.source = opencl::GroupSource(launches);
    sources.push_back(std::move(source));
  }
  return sources;
}

#else

GroupNeed GroupNeedOf(const Graph&, const Locations&, const Op& op) {
  if (op.backend == "cpu") return {};
  return {fmt::format("backend '{}' starts ops one by one", op.backend), 0};
}

int32_t MostParameterBytes(const std::string&) { return INT32_MAX; }

std::vector<GroupSource> MakeGroupSources(const Graph&, const Locations&,
                                          const std::vector<std::vector<OpId>>&) {
  return {};
}

#endif

}  // namespace tenon::converter
