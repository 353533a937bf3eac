#include "converter/cost/profile_operands.hpp"

#include <algorithm>
#include <string_view>

#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "runtime/ops/kernel_name.hpp"

namespace tenon::converter {
namespace {

/// Returns the layout of a tensor's elements: "" for row-major without gaps.
const char* Place(const TensorView& view) {
  if (view.IsRowMajor()) return "";
  if (view.IsChannelsLast()) return "last";
  std::vector<int32_t> row_order;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (view.dims[axis] != 1) row_order.push_back(axis);
  }
  const auto grows = [&](const std::vector<int32_t>& order) {
    int64_t least = 1;
    for (const int32_t axis : order) {
      if (view.strides[axis] < least) return false;
      least = int64_t{view.strides[axis]} * view.dims[axis];
    }
    return order.empty() || view.strides[order[0]] == 1;
  };
  if (grows(row_order)) return "gaps";
  std::vector<int32_t> channels_first_in_memory;
  if (view.rank >= 3 && view.dims[1] != 1) channels_first_in_memory.push_back(1);
  for (const int32_t axis : row_order) {
    if (axis != 1) channels_first_in_memory.push_back(axis);
  }
  return grows(channels_first_in_memory) ? "last-gaps" : "strided";
}

std::string OperandText(const TensorView& view) {
  std::string text = DTypeName(view.dtype);
  text += '[';
  for (int i = 0; i < view.rank; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", view.dims[i]);
  text += ']';
  // Kernels pack constants in their own layout.
  const std::string place = view.data != nullptr ? "" : Place(view);
  return place.empty() ? text : fmt::format("{}:{}", text, place);
}

/// Returns true for numbers that change a quantized op's result, but never its time.
bool IsScaleOrBound(const OpRow& row, const AttributeField& field) {
  if (!TraitsOf(row.kind).quantized) return false;
  const std::string_view name = field.name;
  const auto ends_with = [&](std::string_view end) {
    return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
  };
  return ends_with("scale") || ends_with("multiplier") || ends_with("shift") ||
         ends_with("zero_point") || name == "min" || name == "max" || name == "least_difference";
}

std::string AttributesText(const OpRow& row, const int32_t* words) {
  const auto* defaults = GetOpHostRow(row.kind).text.DefaultWords();
  std::string text;
  for (const AttributeField& field : GetOpHostRow(row.kind).text.fields) {
    const int32_t* value = words + field.offset;
    if (std::equal(value, value + field.count, defaults + field.offset)) continue;
    if (IsScaleOrBound(row, field)) continue;
    text += fmt::format("{}{}=", text.empty() ? "" : " ", field.name);
    for (int i = 0; i < field.count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", value[i]);
  }
  return text;
}

}  // namespace

ProfileOperands::ProfileOperands(const Graph& graph, const Op& op, const Locations* locations)
    : kind_(op.kind), kernel_(op.kernel, 0, KernelIdLength(op.kernel.c_str())) {
  const auto add = [&](const std::vector<TensorId>& ids, std::vector<int32_t>& indices) {
    for (const TensorId id : ids) {
      indices.push_back(id == kNone ? -1 : static_cast<int32_t>(views_.size()));
      if (id == kNone) continue;
      const Tensor& tensor = graph.tensor(id);
      const bool located =
          locations != nullptr && static_cast<size_t>(id) < locations->tensors.size() &&
          locations->at(id).strides.size() == static_cast<size_t>(tensor.shape.rank);
      Add(tensor.shape, tensor.dtype,
          located ? locations->at(id).strides : DenseStrides(tensor.shape, tensor.layout),
          tensor.IsConstant() ? tensor.constant->data() : nullptr);
    }
  };
  add(op.inputs, input_ids_);
  add(op.outputs, output_ids_);
  Finish(op.attributes.words());
}

ProfileOperands::ProfileOperands(const PlanView& plan, const ProgramView& program, size_t index) {
  const OpInfo op = program.op(index);
  kind_ = static_cast<OpKind>(op.kind);
  kernel_.assign(plan.kernel(op.kernel), KernelIdLength(plan.kernel(op.kernel)));
  const auto add = [&](Span<const int32_t> ids, std::vector<int32_t>& indices) {
    for (const int32_t id : ids) {
      indices.push_back(id < 0 ? -1 : static_cast<int32_t>(views_.size()));
      if (id < 0) continue;
      const TensorInfo tensor = program.tensor(static_cast<size_t>(id));
      const StorageInfo storage = program.storage(tensor.storage);
      const void* data = nullptr;
      if (storage.home == StorageHome::kSection) {
        data = plan.section_data(storage.index) + storage.offset + tensor.offset;
      }
      Add(Shape(tensor.dims.data(), static_cast<int32_t>(tensor.dims.size())), tensor.dtype,
          {tensor.strides.begin(), tensor.strides.end()}, data);
    }
  };
  add(op.inputs, input_ids_);
  add(op.outputs, output_ids_);
  Finish({op.attributes.begin(), op.attributes.end()});
}

void ProfileOperands::Add(const Shape& shape, DType dtype, std::vector<int32_t> strides,
                          const void* data) {
  TensorView view;
  view.dims = dims_.emplace_back(shape).dims;
  view.strides = strides_.emplace_back(std::move(strides)).data();
  view.dtype = dtype;
  view.rank = static_cast<uint8_t>(shape.rank);
  // The data is only read: a power's exponent, and whether weights are constant.
  view.data = const_cast<void*>(data);
  views_.push_back(view);
}

void ProfileOperands::Finish(std::vector<int32_t> attributes) {
  const OpRow& row = GetOpRow(kind_);
  attributes_ = std::move(attributes);
  const size_t given = std::min(attributes_.size(), row.attribute_words);
  attributes_.resize(row.attribute_words);
  std::copy(GetOpHostRow(row.kind).text.DefaultWords() + given,
            GetOpHostRow(row.kind).text.DefaultWords() + row.attribute_words,
            attributes_.begin() + static_cast<ptrdiff_t>(given));
  call_.tensors = views_.data();
  call_.input_ids = Span<const int32_t>(input_ids_.data(), input_ids_.size());
  call_.output_ids = Span<const int32_t>(output_ids_.data(), output_ids_.size());
  call_.attributes = attributes_.data();
}

const float* ConstantExponent(const OpCall& call, OpKind kind) {
  if (kind != OpKind::kBinary) return nullptr;
  if (call.AttributesAs<BinaryAttributes>().function != BinaryFunction::kPow) return nullptr;
  const TensorView& exponent = call.Input(BinaryInput::kY);
  const bool known = exponent.data != nullptr && exponent.dtype == DType::kF32;
  return known && exponent.Elements() == 1 ? exponent.As<const float>() : nullptr;
}

std::string ProfileSignature(const ProfileOperands& operands, int threads) {
  const OpCall& call = operands.call();
  const OpRow& row = GetOpRow(operands.kind());
  std::string text = fmt::format("{} {} (", row.name, operands.kernel());
  for (int i = 0; i < call.InputCount(); ++i) {
    text += i == 0 ? "" : ", ";
    text += call.HasInput(i) ? OperandText(call.Input(i)) : "_";
  }
  text += ") ->";
  for (size_t i = 0; i < call.output_ids.size(); ++i) {
    text += fmt::format("{} {}", i == 0 ? "" : ",", OperandText(call.Output(static_cast<int>(i))));
  }
  std::string attributes = AttributesText(row, static_cast<const int32_t*>(call.attributes));
  if (const float* exponent = ConstantExponent(call, operands.kind())) {
    attributes += fmt::format("{}exponent={}", attributes.empty() ? "" : " ", *exponent);
  }
  if (!attributes.empty()) text += fmt::format(" {{{}}}", attributes);
  return text + fmt::format(" threads={}", threads);
}

std::string WithoutStrides(const std::string& signature) {
  std::string text;
  bool inside = false;
  for (const char c : signature) {
    if (c == ':') inside = true;
    if (inside && (c == ',' || c == ')' || c == ' ')) inside = false;
    if (!inside) text += c;
  }
  return text;
}

std::string WithoutKernel(const std::string& signature) {
  const size_t kernel = signature.find(' ');
  const size_t operands = signature.find(' ', kernel + 1);
  if (operands == std::string::npos) return signature;
  return signature.substr(0, kernel) + signature.substr(operands);
}

}  // namespace tenon::converter
