#include "tests/support/scale_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/elements.hpp"

namespace tenon::test {
namespace {

constexpr int kChannels = 4;
constexpr int kSide = 4;

struct Value {
  std::string name;
  int channels = kChannels;
};

class ScaleModelMaker {
 public:
  ScaleModelMaker(ScaleShape shape, int ops, uint64_t seed)
      : shape_(shape), ops_(ops), random_(seed) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
    graph_->set_name("scale");
  }

  onnx::ModelProto Run() {
    AddPort(*graph_->add_input(), "x");
    switch (shape_) {
      case ScaleShape::kChain:
        Chain();
        break;
      case ScaleShape::kFan:
      case ScaleShape::kConcatFan:
      case ScaleShape::kOutputs:
        Fan();
        break;
      case ScaleShape::kResidual:
        Residual();
        break;
      case ScaleShape::kRandom:
        Random();
        break;
      case ScaleShape::kInception:
        Inception();
        break;
      case ScaleShape::kDense:
        Dense();
        break;
      case ScaleShape::kSlices:
        Slices();
        break;
    }
    return std::move(model_);
  }

 private:
  // --- shapes -------------------------------------------------------------------------------

  void Chain() {
    Value value{"x"};
    while (Has(1)) {
      switch (Count() % 5) {
        case 0:
        case 2:
          value = Conv(value, 1);
          break;
        case 1:
          value = Node("Relu", {value});
          break;
        case 3:
          value = Node("Sigmoid", {value});
          break;
        default:
          value = Pool(value);
      }
    }
    Output(value);
  }

  void Fan() {
    const Value stem = Conv({"x"}, 1);
    const bool adds = shape_ == ScaleShape::kFan;
    std::vector<Value> branches;
    for (int i = 0; i < std::max((ops_ - 2) / (adds ? 3 : 2), 1); ++i) {
      branches.push_back(Node("Sigmoid", {Conv(stem, 1)}));
      if (shape_ == ScaleShape::kOutputs) Output(branches.back());
    }
    if (shape_ == ScaleShape::kConcatFan) Output(Concat(branches));
    if (!adds) return;
    Value sum = branches[0];
    for (size_t i = 1; i < branches.size(); ++i) sum = Node("Add", {sum, branches[i]});
    Output(sum);
  }

  void Residual() {
    Value value{"x"};
    while (Has(5)) {
      const Value inner = Conv(Node("Relu", {Conv(value, 1)}), 3);
      value = Node("Relu", {Node("Add", {inner, value})});
    }
    Output(value);
  }

  void Random() {
    std::vector<Value> values{{"x"}};
    std::vector<bool> read{true};
    size_t unread = 0;
    const auto take = [&] {
      const size_t near = std::min<size_t>(values.size(), 12);
      const size_t index = Below(20) == 0 ? Below(values.size()) : values.size() - 1 - Below(near);
      unread -= read[index] ? 0 : 1;
      read[index] = true;
      return values[index];
    };
    while (Has(static_cast<int>(unread) + 2)) {
      const size_t kind = Below(5);
      Value made;
      if (kind < 2) {
        made = Node("Add", {take(), take()});
      } else {
        made = kind == 2 ? Conv(take(), 1) : Node(kind == 3 ? "Relu" : "Tanh", {take()});
      }
      values.push_back(made);
      read.push_back(false);
      ++unread;
    }
    Value sum;
    for (size_t i = 0; i < values.size(); ++i) {
      if (read[i]) continue;
      sum = sum.name.empty() ? values[i] : Node("Add", {sum, values[i]});
    }
    Output(sum);
  }

  void Inception() {
    Value value = Conv({"x"}, 1);
    while (Has(12)) {
      const Value direct = Node("Relu", {Conv(value, 1)});
      const Value wide = Node("Relu", {Conv(Node("Relu", {Conv(value, 1)}), 3)});
      const Value pooled = Conv(Pool(value), 1);
      const Value deep = Conv(Conv(Conv(value, 1), 3), 3);
      value = Concat({direct, wide, pooled, deep});
    }
    Output(value);
  }

  void Dense() {
    constexpr int kLayers = 12;
    Value value{"x"};
    while (Has(3 * kLayers + 1)) {
      std::vector<Value> layers{value};
      for (int layer = 0; layer < kLayers; ++layer) {
        const Value all = layers.size() == 1 ? value : Concat(layers);
        layers.push_back(Node("Relu", {Conv(all, 3)}));
      }
      value = Conv(Concat(layers), 1);
    }
    Output(value);
  }

  void Slices() {
    Value value{"x"};
    while (Has(6)) {
      const Value sum = Node("Relu", {value});
      const Value low = Slice(sum, 0, 2);
      const Value high = Slice(sum, 2, 4);
      const Value inner = Concat({Slice(high, 1, 2), Slice(high, 0, 1)});
      value = Concat({inner, low});
    }
    Output(value);
  }

  // --- nodes --------------------------------------------------------------------------------

  [[nodiscard]] int Count() const { return graph_->node_size(); }
  /// True if `more` nodes may be added.
  [[nodiscard]] bool Has(int more) const { return Count() + more <= ops_; }
  size_t Below(size_t count) { return static_cast<size_t>(random_.Next() % count); }

  Value Node(const std::string& type, const std::vector<Value>& inputs) {
    onnx::NodeProto& node = *graph_->add_node();
    node.set_op_type(type);
    node.set_name(fmt::format("{}_{}", type, Count()));
    for (const Value& input : inputs) node.add_input(input.name);
    node.add_output(fmt::format("v{}", Count()));
    return {node.output(0), inputs[0].channels};
  }
  onnx::NodeProto& Last() { return *graph_->mutable_node()->rbegin(); }

  void SetInts(const std::string& name, const std::vector<int64_t>& values) {
    onnx::AttributeProto& attribute = *Last().add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Assign(values.begin(), values.end());
  }

  Value Conv(const Value& input, int side) {
    Value made = Node("Conv", {input});
    onnx::TensorProto& weight = *graph_->add_initializer();
    weight.set_name(fmt::format("w{}", Count()));
    weight.set_data_type(onnx::TensorProto::FLOAT);
    const int64_t dims[] = {kChannels, input.channels, side, side};
    weight.mutable_dims()->Assign(std::begin(dims), std::end(dims));
    const int fan_in = input.channels * side * side;
    for (int i = 0; i < kChannels * fan_in; ++i) {
      const auto uniform = static_cast<float>(random_.Next() >> 40) * 0x1.0p-24F;
      weight.add_float_data((uniform - 0.5F) * 2.0F / static_cast<float>(fan_in));
    }
    Last().add_input(weight.name());
    SetInts("kernel_shape", {side, side});
    SetInts("pads", std::vector<int64_t>(4, side / 2));
    made.channels = kChannels;
    return made;
  }

  Value Pool(const Value& input) {
    Value made = Node("MaxPool", {input});
    SetInts("kernel_shape", {3, 3});
    SetInts("pads", {1, 1, 1, 1});
    return made;
  }

  Value Concat(const std::vector<Value>& parts) {
    Value made = Node("Concat", parts);
    onnx::AttributeProto& axis = *Last().add_attribute();
    axis.set_name("axis");
    axis.set_type(onnx::AttributeProto::INT);
    axis.set_i(1);
    made.channels = 0;
    for (const Value& part : parts) made.channels += part.channels;
    return made;
  }

  Value Slice(const Value& input, int begin, int end) {
    const auto constant = [&](const char* role, int64_t value) {
      std::string name = fmt::format("{}{}", role, value);
      if (std::find(constants_.begin(), constants_.end(), name) == constants_.end()) {
        onnx::TensorProto& tensor = *graph_->add_initializer();
        tensor.set_name(name);
        tensor.set_data_type(onnx::TensorProto::INT64);
        tensor.add_dims(1);
        tensor.add_int64_data(value);
        constants_.push_back(name);
      }
      return Value{name};
    };
    Value made =
        Node("Slice", {input, constant("at", begin), constant("at", end), constant("at", 1)});
    made.channels = end - begin;
    return made;
  }

  void AddPort(onnx::ValueInfoProto& port, const std::string& name) {
    port.set_name(name);
    auto& tensor = *port.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(onnx::TensorProto::FLOAT);
    if (name != "x") return;
    for (const int dim : {1, kChannels, kSide, kSide}) {
      tensor.mutable_shape()->add_dim()->set_dim_value(dim);
    }
  }
  void Output(const Value& value) { AddPort(*graph_->add_output(), value.name); }

  ScaleShape shape_;
  int ops_;
  converter::SplitMix64 random_;
  onnx::ModelProto model_;
  onnx::GraphProto* graph_ = model_.mutable_graph();
  std::vector<std::string> constants_;
};

}  // namespace

onnx::ModelProto MakeScaleModel(ScaleShape shape, int ops, uint64_t seed) {
  return ScaleModelMaker(shape, ops, seed).Run();
}

}  // namespace tenon::test
