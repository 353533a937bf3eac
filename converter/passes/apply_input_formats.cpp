#include "converter/passes/apply_input_formats.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "converter/ir/states.hpp"
#include "converter/passes/image_layouts.hpp"

namespace tenon::converter {
namespace {

Result<std::vector<float>> ParseNumbers(std::string_view name, std::string_view text) {
  std::vector<float> numbers;
  while (true) {
    const std::string_view word = text.substr(0, text.find(':'));
    float number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(number)) {
      return UsageError("input format of '{}': '{}' is no number", name, word);
    }
    numbers.push_back(number);
    if (word.size() == text.size()) return numbers;
    text.remove_prefix(word.size() + 1);
  }
}

/// Collects the words of one format, each kind at most once.
class FormatParser {
 public:
  explicit FormatParser(std::string_view name) { format_.input = name; }

  Status Take(std::string_view word) {
    if (word == "u8" || word == "i8" || word == "f32") {
      format_.dtype = word == "u8" ? DType::kU8 : word == "i8" ? DType::kI8 : DType::kF32;
      return Once(has_dtype_, "dtype");
    }
    if (word == "nhwc" || word == "nchw") {
      format_.channels_last = word == "nhwc";
      return Once(has_layout_, "layout");
    }
    if (word.starts_with("mean=")) return Numbers(word.substr(5), "mean", format_.mean);
    if (word.starts_with("scale=")) return Numbers(word.substr(6), "scale", format_.scale);
    return UsageError(
        "input format of '{}': '{}' is none of u8, i8, f32, nhwc, nchw, mean=, scale=",
        format_.input, word);
  }

  Result<InputFormat> Finish() {
    if (!has_dtype_) return UsageError("input format of '{}': no dtype", format_.input);
    for (const float scale : format_.scale) {
      if (scale == 0) return UsageError("input format of '{}': a scale is 0", format_.input);
    }
    return std::move(format_);
  }

 private:
  Status Once(bool& given, const char* what) {
    if (given) return UsageError("input format of '{}': two times a {}", format_.input, what);
    given = true;
    return {};
  }

  Status Numbers(std::string_view text, const char* what, std::vector<float>& numbers) {
    if (!numbers.empty())
      return UsageError("input format of '{}': two times a {}", format_.input, what);
    TENON_ASSIGN_OR_RETURN(numbers, ParseNumbers(format_.input, text));
    return {};
  }

  InputFormat format_;
  bool has_dtype_ = false;
  bool has_layout_ = false;
};

Shape Permuted(const Shape& shape, const int32_t (&permutation)[4]) {
  Shape permuted = shape;
  for (int32_t i = 0; i < 4; ++i) permuted[i] = shape[permutation[i]];
  return permuted;
}

class Applier {
 public:
  Applier(Graph& graph, const InputFormat& format, bool images_channels_last, size_t port)
      : graph_(graph), format_(format), images_channels_last_(images_channels_last), port_(port) {}

  Status Run() {
    const Graph::Port port = graph_.inputs()[port_];
    const Tensor model = graph_.tensor(port.tensor);
    TENON_RETURN_IF_ERROR(CheckFits(model, port));
    const std::vector<OpId> order = graph_.OpOrder();
    first_ = order.empty() ? kNone : order.front();
    const bool is_image = model.shape.rank == 4;
    const bool model_is_last = is_image && images_channels_last_;
    const bool is_last = format_.channels_last.value_or(model_is_last);
    channel_axis_ = is_image && !model_is_last ? 1 : model.shape.rank - 1;
    channels_ = model.shape.rank == 0 ? 1 : model.shape[channel_axis_];
    TENON_RETURN_IF_ERROR(CheckChannels());
    Shape shape = model.shape;
    if (is_last != model_is_last) {
      shape = Permuted(shape, is_last ? kToChannelsLast : kToChannelsFirst);
    }
    const TensorId input =
        graph_.AddTensor(model.name + "." + DTypeName(format_.dtype), format_.dtype, shape);
    TensorId value = input;
    if (is_last != model_is_last) {
      TENON_ASSIGN_OR_RETURN(value, Turned(value, is_last ? kToChannelsFirst : kToChannelsLast));
    }
    if (!HasModelsNumbers(model, port)) {
      TENON_ASSIGN_OR_RETURN(value, Normalised(value, model.shape.rank));
      TENON_ASSIGN_OR_RETURN(value, Quantized(value, model.dtype, port));
    }
    graph_.SetPortTensor(/*output=*/false, port_, input);
    graph_.ReplaceUses(port.tensor, value);
    graph_.EraseTensor(port.tensor);
    if (!HasModelsNumbers(model, port)) DescribePort();
    return {};
  }

 private:
  /// Returns true for bytes that the model itself takes, whatever they stand for: only their order
  /// changes.
  [[nodiscard]] bool HasModelsNumbers(const Tensor& model, const Graph::Port& port) const {
    return (model.dtype == DType::kI8 || model.dtype == DType::kU8) && port.scale == 0 &&
           format_.dtype == model.dtype && format_.mean.empty() && format_.scale.empty();
  }

  Status CheckFits(const Tensor& model, const Graph::Port& port) const {
    const bool is_quantized =
        port.scale > 0 && (model.dtype == DType::kI8 || model.dtype == DType::kU8);
    if (model.dtype != DType::kF32 && !is_quantized && !HasModelsNumbers(model, port)) {
      return UsageError(
          "input format of '{}': the model's input is {}, neither f32 nor quantized: its layout "
          "alone can be another, with bytes of its own dtype and no mean or scale",
          format_.input, DTypeName(model.dtype));
    }
    if (format_.channels_last.value_or(false) && model.shape.rank != 4) {
      return UsageError("input format of '{}': nhwc is for rank 4, the input has rank {}",
                        format_.input, model.shape.rank);
    }
    return {};
  }

  Status CheckChannels() const {
    for (const std::vector<float>* numbers : {&format_.mean, &format_.scale}) {
      const size_t count = numbers->size();
      if (count <= 1 || count == static_cast<size_t>(channels_)) continue;
      return UsageError("input format of '{}': {} numbers for {} channels", format_.input, count,
                        channels_);
    }
    return {};
  }

  Result<TensorId> Insert(OpKind kind, const char* what, const std::vector<TensorId>& inputs,
                          const Attributes& attributes) {
    const std::string name = fmt::format("{}.{}", format_.input, what);
    TENON_ASSIGN_OR_RETURN(const OpId op,
                           graph_.InsertOp(first_, kind, name, inputs, attributes, {name}));
    return graph_.op(op).outputs[0];
  }

  Result<TensorId> Turned(TensorId value, const int32_t (&permutation)[4]) {
    return Insert(OpKind::kTranspose, "turned", {value}, Attributes(TransposeBy(permutation)));
  }

  Result<TensorId> Normalised(TensorId value, int32_t rank) {
    if (format_.dtype != DType::kF32) {
      TENON_ASSIGN_OR_RETURN(value,
                             Insert(OpKind::kCast, "float", {value}, Attributes(CastAttributes())));
    }
    const auto is_plain = [](const std::vector<float>& numbers, float neutral) {
      return std::all_of(numbers.begin(), numbers.end(),
                         [&](float number) { return number == neutral; });
    };
    BinaryAttributes binary;
    if (!is_plain(format_.mean, 0)) {
      binary.function = BinaryFunction::kSub;
      TENON_ASSIGN_OR_RETURN(
          value, Insert(OpKind::kBinary, "centred", {value, PerChannel("mean", format_.mean, rank)},
                        Attributes(binary)));
    }
    if (!is_plain(format_.scale, 1)) {
      binary.function = BinaryFunction::kMul;
      TENON_ASSIGN_OR_RETURN(
          value, Insert(OpKind::kBinary, "scaled",
                        {value, PerChannel("scale", format_.scale, rank)}, Attributes(binary)));
    }
    return value;
  }

  TensorId PerChannel(const char* what, const std::vector<float>& numbers, int32_t rank) {
    Shape shape;
    shape.rank = numbers.size() == 1 ? 0 : rank;
    for (int32_t i = 0; i < shape.rank; ++i) shape[i] = i == channel_axis_ ? channels_ : 1;
    return graph_.AddConstantOf(fmt::format("{}.{}", format_.input, what), DType::kF32, shape,
                                numbers);
  }

  Result<TensorId> Quantized(TensorId value, DType dtype, const Graph::Port& port) {
    if (dtype == DType::kF32) return value;
    QuantizeAttributes quantize;
    quantize.to = static_cast<int32_t>(dtype);
    Shape one;
    one.rank = 1;
    one[0] = 1;
    const TensorId scale = graph_.AddConstantOf(format_.input + ".model_scale", DType::kF32, one,
                                                std::vector<float>{port.scale});
    const TensorId zero_point =
        graph_.AddConstantOf(format_.input + ".model_zero_point", dtype, one,
                             std::vector<uint8_t>{static_cast<uint8_t>(port.zero_point)});
    return Insert(OpKind::kQuantize, "quantized", {value, scale, zero_point}, Attributes(quantize));
  }

  /// Records what the port's bytes represent, if one scale and one integer mean express it.
  void DescribePort() {
    const float mean = format_.mean.empty() ? 0 : format_.mean.front();
    const bool one = format_.mean.size() <= 1 && format_.scale.size() <= 1;
    const bool is_bytes = format_.dtype != DType::kF32;
    const float least = format_.dtype == DType::kI8 ? -128.0F : 0.0F;
    const bool whole = mean == std::floor(mean) && mean >= least && mean <= least + 255;
    const float scale = format_.scale.empty() ? 1 : format_.scale.front();
    const bool describes = one && is_bytes && whole && scale > 0;
    graph_.SetPortQuantization(/*output=*/false, port_, describes ? scale : 0,
                               describes ? static_cast<int32_t>(mean) : 0);
  }

  Graph& graph_;
  const InputFormat& format_;
  bool images_channels_last_;
  size_t port_;
  OpId first_ = kNone;
  int32_t channel_axis_ = 0;
  int32_t channels_ = 1;
};

}  // namespace

Result<InputFormat> ParseInputFormat(std::string_view name, std::string_view text) {
  FormatParser parser(name);
  while (true) {
    const std::string_view word = text.substr(0, text.find(','));
    TENON_RETURN_IF_ERROR(parser.Take(word));
    if (word.size() == text.size()) return parser.Finish();
    text.remove_prefix(word.size() + 1);
  }
}

Status ApplyInputFormats(Graph& graph, PassContext& context) {
  for (const InputFormat& format : context.input_formats) {
    std::string known;
    size_t port = graph.inputs().size();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const std::string& name = graph.inputs()[i].name;
      known += fmt::format("{}'{}'", known.empty() ? "" : ", ", name);
      if (name == format.input) port = i;
    }
    if (port == graph.inputs().size()) {
      return UsageError("input format of '{}': no such input; there are {}", format.input, known);
    }
    if (IsState(graph, /*output=*/false, format.input)) {
      return UsageError("input format of '{}': it is a state, and no input of the plan",
                        format.input);
    }
    TENON_RETURN_IF_ERROR(Applier(graph, format, context.images_channels_last, port).Run());
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
