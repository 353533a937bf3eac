// Caffe's two files: what is read of them, and what is refused.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/caffe/caffe_model.hpp"

namespace tenon::converter::test {
namespace {

constexpr const char* kRelu = R"(layer { name: "r" type: "ReLU" bottom: "x" top: "y" })";

TEST_CASE("Caffe files: inputs by shape, by four dims, and as a layer are the same") {
  const std::string expected =
      "input %x: f32[1,2,3,4]\n%y: f32[1,2,3,4] = unary(%x) {function=relu} \"r\"\noutput %y\n";
  CaffeModel model({1, 2, 3, 4}, kRelu);
  CHECK(model.Text() == expected);
  model.text =
      std::string("input: \"x\" input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4 ") + kRelu;
  CHECK(model.Text() == expected);
  model.text = std::string(
                   "layer { name: \"in\" type: \"Input\" top: \"x\" input_param { shape { "
                   "dim: 1 dim: 2 dim: 3 dim: 4 } } } ") +
               kRelu;
  CHECK(model.Text() == expected);
}

TEST_CASE("Caffe files: options give inputs other dims, or a value") {
  const CaffeModel model({1, 2}, kRelu);
  ImportOptions options;
  options.batch = 3;
  CHECK(model.Text(options).starts_with("input %x: f32[3,2]"));
  options.shapes["x"] = {5, 7};
  CHECK(model.Text(options).starts_with("input %x: f32[5,7]"));
  options.shapes["x"] = {5};
  CHECK(model.Text(options) == "error: --shape x: 1 dimensions given, the model's input has 2");
  options.shapes = {{"q", {1}}};
  CHECK(model.Text(options) == "error: --shape q: the model has no such input (it has x)");
}

TEST_CASE("Caffe files: layers for training alone are left out") {
  const CaffeModel model({1, 2}, std::string(kRelu) + R"(
layer { name: "d" type: "Data" top: "label" include { phase: TRAIN } }
layer { name: "l" type: "SoftmaxWithLoss" bottom: "y" top: "loss" exclude { phase: TEST } }
layer { name: "p" type: "Dropout" bottom: "y" top: "y" dropout_param { dropout_ratio: 0.5 } }
)");
  CHECK(model.Text() ==
        "input %x: f32[1,2]\n%y: f32[1,2] = unary(%x) {function=relu} \"r\"\noutput %y\n");
}

TEST_CASE("Caffe files: layers that are not known are listed at once") {
  const CaffeModel model({1, 2}, std::string(kRelu) + R"(
layer { name: "a" type: "Python" bottom: "y" top: "z" }
layer { name: "b" type: "Python" bottom: "z" top: "w" }
layer { name: "c" type: "SPP" bottom: "w" top: "v" }
)");
  CHECK(model.Text() ==
        "error: the model uses 2 kinds of layers that cannot be converted\n"
        "unsupported layer Python (2 times): a, b\n"
        "unsupported layer SPP (1 times): c");
}

TEST_CASE("Caffe files: a field that is not known may matter, one of training does not") {
  CaffeModel model({1, 2}, R"(layer { name: "r" type: "ReLU" bottom: "x" top: "y"
  param { lr_mult: 1 } relu_param { engine: CAFFE leak: 3 } })");
  CHECK(model.Text() == "error: line 3: field 'leak' is not known");
  model.text = "layer {";
  CHECK(model.Text().starts_with("error: line 1, column 8: "));
  model.text = "name: \"empty\"";
  CHECK(model.Text() == "error: the network has no layers");
  model.text = "layers { name: \"old\" }";
  CHECK(model.Text().starts_with("error: in the format before 2014"));
}

TEST_CASE("Caffe files: weights that are missing, or of another size, are refused") {
  CaffeModel model({1, 2}, R"(layer { name: "f" type: "InnerProduct" bottom: "x" top: "y"
  inner_product_param { num_output: 2 } })");
  CHECK(model.Text() ==
        "error: layer 'f' (InnerProduct): the file of weights has 0 arrays for it, array 0 is "
        "missing");
  model.Weights("f", {1, 2, 3});
  CHECK(model.Text() ==
        "error: layer 'f' (InnerProduct): its array 0 has 3 elements, 4 are wanted");
  model.weights.mutable_layer(1)->mutable_blobs(0)->set_width(4);
  CHECK(model.Text() == "error: weights of layer 'f': an array of 4 elements holds 3");
}

TEST_CASE("Caffe files: weights in doubles, and of old files, are read") {
  CaffeModel model({1, 1}, R"(layer { name: "f" type: "InnerProduct" bottom: "x" top: "y"
  inner_product_param { num_output: 1 bias_term: false } })");
  auto* old = model.weights.add_layers();
  old->set_name("f");
  auto* blob = old->add_blobs();
  blob->set_num(1);
  blob->set_channels(1);
  blob->set_height(1);
  blob->set_width(1);
  blob->add_double_data(2.5);
  CHECK(model.Text() ==
        "input %x: f32[1,1]\n"
        "const %f/weights: f32[1,1] = [2.5]\n"
        "%y: f32[1,1] = matmul(%x, %f/weights) {transpose_b=1} \"f\"\n"
        "output %y\n");
}

}  // namespace
}  // namespace tenon::converter::test
