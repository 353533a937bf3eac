#include "converter/import/onnx/model_inputs.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>

#include "converter/import/onnx/tensor_data.hpp"

namespace tenon::converter {
namespace {

/// Dims of an input; -1 where the model does not fix them.
struct DeclaredInput {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  std::vector<std::string> symbols;  ///< "" where the dim has none
  std::vector<bool> zeros;           ///< where the model says 0
  bool has_shape = false;
};

constexpr int64_t kUnknown = -1;

Result<DeclaredInput> Declare(const onnx::ValueInfoProto& input) {
  DeclaredInput declared;
  declared.name = input.name();
  if (!input.type().has_tensor_type()) {
    return InputError("input '{}' is not a tensor", input.name());
  }
  const auto& type = input.type().tensor_type();
  const auto dtype = DTypeFromOnnx(type.elem_type());
  if (!dtype.ok()) return InputError("input '{}': {}", input.name(), dtype.error().message);
  declared.dtype = *dtype;
  declared.has_shape = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    // Some exporters write 0 or -1 for "any".
    const bool known = dim.has_dim_value() && dim.dim_value() > 0;
    declared.dims.push_back(known ? dim.dim_value() : kUnknown);
    declared.symbols.push_back(dim.dim_param());
    declared.zeros.push_back(dim.has_dim_value() && dim.dim_value() == 0);
  }
  return declared;
}

Status ApplyShapeOption(DeclaredInput& input, const ImportOptions& options) {
  const auto found = options.shapes.find(input.name);
  if (found == options.shapes.end()) return {};
  if (input.has_shape && found->second.size() != input.dims.size()) {
    return UsageError("--shape {}: {} dimensions given, the model's input has {}", input.name,
                      found->second.size(), input.dims.size());
  }
  input.dims = found->second;
  input.symbols.resize(input.dims.size());
  input.has_shape = true;
  return {};
}

/// The same symbol has the same value everywhere.
void ApplySymbols(std::vector<DeclaredInput>& inputs,
                  const std::map<std::string, int64_t>& symbols) {
  for (DeclaredInput& input : inputs) {
    for (size_t i = 0; i < input.dims.size(); ++i) {
      const auto found = symbols.find(input.symbols[i]);
      if (input.dims[i] == kUnknown && found != symbols.end()) input.dims[i] = found->second;
    }
  }
}

Status ApplyBatch(std::vector<DeclaredInput>& inputs, int64_t batch,
                  std::map<std::string, int64_t>& symbols) {
  if (batch == 0) return {};
  if (batch < 0) return UsageError("--batch {}: must be positive", batch);
  bool used = false;
  for (DeclaredInput& input : inputs) {
    if (input.dims.empty()) continue;
    used |= input.dims[0] == kUnknown || input.dims[0] == batch;
    if (input.dims[0] != kUnknown) continue;
    input.dims[0] = batch;
    if (!input.symbols[0].empty()) symbols.emplace(input.symbols[0], batch);
  }
  if (used) return {};
  return UsageError("--batch {}: no input has a free first dimension (use --shape)", batch);
}

Status RefuseUnknown(const DeclaredInput& input) {
  if (!input.has_shape) {
    return InputError("input '{}' has no shape in the model: give one, --shape {}=1x3x224x224 say",
                      input.name, input.name);
  }
  const auto unknown = std::find(input.dims.begin(), input.dims.end(), kUnknown);
  if (unknown == input.dims.end()) return {};
  const auto index = static_cast<size_t>(unknown - input.dims.begin());
  const auto count = std::count(input.dims.begin(), input.dims.end(), kUnknown);
  std::vector<int64_t> example = input.dims;
  std::replace(example.begin(), example.end(), kUnknown, int64_t{1});
  const std::string shape = fmt::format("--shape {}={}", input.name, fmt::join(example, "x"));
  const std::string& symbol = input.symbols[index];
  const std::string give = index == 0 && count == 1 ? fmt::format("--batch 1 or {}", shape)
                                                    : fmt::format("{} (with your sizes)", shape);
  if (index < input.zeros.size() && input.zeros[index]) {
    std::vector<int64_t> none = input.dims;
    for (size_t i = 0; i < none.size(); ++i) {
      if (none[i] == kUnknown) none[i] = input.zeros[i] ? 0 : 1;
    }
    return InputError(
        "input '{}' has 0 for dimension {}, by which some exporters mean any size: give {}, or "
        "--shape {}={} where it has no elements",
        input.name, index, give, input.name, fmt::join(none, "x"));
  }
  return InputError("input '{}' has no value for dimension {}{}: give {}", input.name, index,
                    symbol.empty() ? "" : fmt::format(" ('{}')", symbol), give);
}

Status CheckFrozen(const DeclaredInput& input, const ImportOptions::Frozen& frozen) {
  if (frozen.dtype != input.dtype) {
    return UsageError("--freeze {}: the array holds {}, the model's input {}", input.name,
                      DTypeName(frozen.dtype), DTypeName(input.dtype));
  }
  const auto rank = static_cast<size_t>(frozen.shape.rank);
  bool fits = !input.has_shape || rank == input.dims.size();
  for (size_t i = 0; fits && i < input.dims.size(); ++i) {
    fits = input.dims[i] == kUnknown || input.dims[i] == frozen.shape[static_cast<int32_t>(i)];
  }
  if (fits) return {};
  return UsageError("--freeze {}: the array's shape is not that of the model's input", input.name);
}

Status CheckOptionNames(const onnx::GraphProto& graph, const ImportOptions& options) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  const auto unknown = [&](const char* option, const std::string& name) {
    return UsageError("--{} {}: the model has no such input (it has {})", option, name,
                      fmt::join(names, ", "));
  };
  for (const auto& [name, shape] : options.shapes) {
    if (!names.contains(name)) return unknown("shape", name);
    if (options.freeze.contains(name)) {
      return UsageError("--shape {}: that input is frozen", name);
    }
    for (int64_t dim : shape) {
      if (dim < 0) return UsageError("--shape {}: dimension {} is negative", name, dim);
    }
  }
  for (const auto& [name, frozen] : options.freeze) {
    if (!names.contains(name)) return unknown("freeze", name);
  }
  return {};
}

/// Declared inputs that stay inputs, with what `--shape` says.
Result<std::vector<DeclaredInput>> LiveInputs(const onnx::GraphProto& graph,
                                              const ImportOptions& options) {
  std::set<std::string> initialised;
  for (const auto& tensor : graph.initializer()) initialised.insert(tensor.name());
  std::vector<DeclaredInput> inputs;
  for (const auto& value : graph.input()) {
    if (initialised.contains(value.name()) && !options.shapes.contains(value.name()) &&
        !options.freeze.contains(value.name())) {
      continue;
    }
    TENON_ASSIGN_OR_RETURN(DeclaredInput input, Declare(value));
    if (const auto frozen = options.freeze.find(input.name); frozen != options.freeze.end()) {
      TENON_RETURN_IF_ERROR(CheckFrozen(input, frozen->second));
      continue;
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace

Result<std::vector<InputType>> ResolveInputs(const onnx::ModelProto& model,
                                             const ImportOptions& options) {
  TENON_RETURN_IF_ERROR(CheckOptionNames(model.graph(), options));
  TENON_ASSIGN_OR_RETURN(std::vector<DeclaredInput> inputs, LiveInputs(model.graph(), options));
  std::map<std::string, int64_t> symbols;
  for (DeclaredInput& input : inputs) {
    TENON_RETURN_IF_ERROR(ApplyShapeOption(input, options));
    for (size_t i = 0; i < input.dims.size(); ++i) {
      if (input.dims[i] != kUnknown && !input.symbols[i].empty()) {
        symbols.emplace(input.symbols[i], input.dims[i]);
      }
    }
  }
  ApplySymbols(inputs, symbols);
  TENON_RETURN_IF_ERROR(ApplyBatch(inputs, options.batch, symbols));
  ApplySymbols(inputs, symbols);

  std::vector<InputType> types;
  for (const DeclaredInput& input : inputs) {
    TENON_RETURN_IF_ERROR(RefuseUnknown(input));
    const auto shape = ShapeFromDims(input.dims);
    if (!shape.ok()) return InputError("input '{}': {}", input.name, shape.error().message);
    types.push_back({input.name, input.dtype, *shape});
  }
  return types;
}

}  // namespace tenon::converter
