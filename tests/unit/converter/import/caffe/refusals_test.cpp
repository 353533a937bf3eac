// What Caffe networks are refused for, and the words for it.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/unit/converter/import/caffe/caffe_model.hpp"

namespace tenon::converter::test {
namespace {

/// What becomes of a network of the one layer "l", from "x" to "y", without weights.
std::string Of(const std::vector<int>& dims, const std::string& type,
               const std::string& parameters) {
  return CaffeModel(dims, "layer { name: \"l\" type: \"" + type + "\" bottom: \"x\" top: \"y\" " +
                              parameters + " }")
      .Text();
}

/// The error of that layer.
std::string Refused(const std::vector<int>& dims, const std::string& type,
                    const std::string& parameters) {
  const std::string text = Of(dims, type, parameters);
  const std::string before = "error: layer 'l' (" + type + "): ";
  return text.starts_with(before) ? text.substr(before.size()) : "not refused by it: " + text;
}

TEST_CASE("Caffe refusals: inputs without dims, of one name, or none at all") {
  CaffeModel model({1}, "");
  const std::string relu = R"(layer { name: "r" type: "ReLU" bottom: "x" top: "y" })";
  model.text = "input: \"x\" input_dim: 1 input_dim: 2 input_dim: 3 " + relu;
  CHECK(model.Text() == "error: input 'x' has no shape");
  model.text = R"(layer { name: "i" type: "Input" top: "x" })" + relu;
  CHECK(model.Text() == "error: input 'x' has no shape");
  model.text = "input: \"x\" input_shape { dim: 1 } input: \"x\" input_shape { dim: 1 } " + relu;
  CHECK(model.Text() == "error: two inputs are called 'x'");
  model.text = relu;
  CHECK(model.Text().starts_with("error: the network has no inputs: layers that read data sets"));
  model.text = "input: \"x\" input_shape { dim: -1 } " + relu;
  CHECK(model.Text() == "error: dimension 0 is -1, out of range");
}

TEST_CASE("Caffe refusals: a frozen input takes an array of its dims and type") {
  const CaffeModel model({1, 2},
                         R"(layer { name: "s" type: "Split" bottom: "x" top: "a" }
layer { name: "r" type: "ReLU" bottom: "x" top: "y" })");
  ImportOptions options;
  const float values[] = {-3, 4};
  ImportOptions::Frozen& frozen = options.freeze["x"];
  frozen.dtype = DType::kF32;
  frozen.shape = Shape({1, 2});
  frozen.bytes.resize(sizeof values);
  std::memcpy(frozen.bytes.data(), values, sizeof values);
  CHECK(model.Text(options) ==
        "const %x: f32[1,2] = [-3, 4]\n"
        "%y: f32[1,2] = unary(%x) {function=relu} \"r\"\n"
        "%a/copy: f32[1,2] = copy(%x)\n"
        "output %a/copy as \"a\"\noutput %y\n");
  frozen.shape = Shape({2, 1});
  CHECK(model.Text(options) ==
        "error: --freeze x: the array is not of the input's type f32 and shape");
  options.freeze["q"] = frozen;
  CHECK(model.Text(options) == "error: --freeze q: the model has no such input (it has x)");
}

TEST_CASE("Caffe refusals: a network that makes nothing has no outputs") {
  CHECK(Of({1, 2}, "Silence", "") == "error: the network has no outputs");
}

TEST_CASE("Caffe refusals: blobs that nothing makes, and layers without the tops that they fill") {
  CHECK(CaffeModel({1, 2}, R"(layer { name: "l" type: "ReLU" bottom: "q" top: "y" })").Text() ==
        "error: layer 'l' (ReLU): nothing makes its input 'q'");
  CHECK(CaffeModel({1, 2}, R"(layer { name: "l" type: "ReLU" bottom: "x" })").Text() ==
        "error: layer 'l' (ReLU): it has no top 0");
  CHECK(CaffeModel({1, 2}, R"(layer { name: "l" type: "ReLU" top: "y" })").Text() ==
        "error: layer 'l' (ReLU): it has no bottom 0");
}

TEST_CASE("Caffe refusals: convolutions") {
  const auto refused = [](const std::string& parameters) {
    return Refused({1, 4, 5, 5}, "Convolution", "convolution_param { " + parameters + " }");
  };
  CHECK(Refused({1, 4}, "Convolution", "convolution_param { num_output: 1 kernel_size: 1 }") ==
        "its input has 2 dimensions; images with channels at axis 1 are supported");
  CHECK(refused("num_output: 3 kernel_size: 1 group: 2") ==
        "2 groups do not divide 4 inputs and 3 outputs");
  CHECK(refused("kernel_size: 1") == "1 groups do not divide 4 inputs and 0 outputs");
  CHECK(refused("num_output: 1 kernel_size: 1 kernel_size: 2 kernel_size: 3") ==
        "kernel_size has 3 values: images have two");
  CHECK(refused("num_output: 1 kernel_size: 1 stride: 4000000000") ==
        "stride is 4000000000, out of range");
  CHECK(refused("num_output: 2147483647 kernel_size: 268435456") ==
        "its array 0 would have 2^31 elements or more");
  CHECK(CaffeModel({1, 4, 5, 5}, R"(layer { name: "l" type: "Convolution" bottom: "x" bottom: "x"
  top: "y" top: "z" convolution_param { num_output: 1 kernel_size: 1 } })")
            .Text() ==
        "error: layer 'l' (Convolution): several inputs that share weights are not supported");
}

TEST_CASE("Caffe refusals: transposed convolutions") {
  const auto refused = [](const std::string& parameters) {
    return Refused({1, 4, 5, 5}, "Deconvolution",
                   "convolution_param { num_output: 1 " + parameters + " }");
  };
  CHECK(refused("kernel_size: 0") == "strides, dilations and kernel must be at least 1");
  CHECK(refused("kernel_size: 1 stride: 0") == "strides, dilations and kernel must be at least 1");
  CHECK(refused("kernel_size: 1 pad: 3") == "its output has the size -1");
  CHECK(refused("kernel_size: 1 stride: 268435456") == "its output has the size 1073741825");
}

TEST_CASE("Caffe refusals: inner products have outputs, and an axis to begin at") {
  CHECK(Refused({1, 4}, "InnerProduct", "") == "num_output is 0, out of range");
  CHECK(Refused({1, 4}, "InnerProduct", "inner_product_param { num_output: 4294967295 }") ==
        "num_output is 4294967295, out of range");
  CHECK(Refused({1, 4}, "InnerProduct", "inner_product_param { num_output: 1 axis: 2 }") ==
        "its axis 2 is out of range for 2 dimensions");
}

TEST_CASE("Caffe refusals: element by element") {
  CHECK(Refused({4}, "PReLU", "") == "its input has 1 dimensions, no channels");
  CHECK(Refused({4}, "Eltwise", "") == "it has one input only");
  CHECK(CaffeModel({1, 2}, R"(layer { name: "f" type: "Flatten" bottom: "x" top: "f"
  flatten_param { axis: 0 } }
layer { name: "l" type: "Eltwise" bottom: "x" bottom: "f" top: "y" })")
            .Text() == "error: layer 'l' (Eltwise): its inputs have different shapes");
}

TEST_CASE("Caffe refusals: normalisations") {
  CHECK(Refused({1, 4}, "BatchNorm", "batch_norm_param { use_global_stats: false }") ==
        "use_global_stats: false (training) is not supported");
  CHECK(Refused({4}, "BatchNorm", "") == "its input has 1 dimensions, no channels");
  CHECK(Refused({1, 4}, "Scale", "scale_param { num_axes: 3 }") == "it has no 3 axes to scale");
  CHECK(Refused({1, 4}, "Bias", "bias_param { axis: 2 }") ==
        "its axis 2 is out of range for 2 dimensions");
  CHECK(Refused({1, 4}, "LRN", "lrn_param { local_size: 65537 }") ==
        "local_size 65537 is out of range");
  CHECK(Refused({1, 4}, "Normalize", "") == "its input has 2 dimensions, not 4");
}

TEST_CASE("Caffe refusals: what parts and dims do not come out even") {
  CHECK(CaffeModel({1, 5}, R"(layer { name: "l" type: "Slice" bottom: "x" top: "a" top: "b" })")
            .Text() == "error: layer 'l' (Slice): 5 elements cannot be divided into 2 equal parts");
  CHECK(Refused({1, 5}, "Slice", "slice_param { slice_point: 2 }") == "1 slice points for 1 tops");
  CHECK(CaffeModel({1, 5}, R"(layer { name: "l" type: "Concat" top: "y" })").Text() ==
        "error: layer 'l' (Concat): it has no inputs");
  CHECK(Refused({1, 5}, "Permute", "permute_param { order: 2 }") == "there is no axis 2");
  CHECK(Refused({1, 5}, "Flatten", "flatten_param { axis: 1 end_axis: 0 }") ==
        "its axes 1 to 0 are in the wrong order");
}

TEST_CASE("Caffe refusals: a reshape to other dims than the elements have") {
  const auto refused = [](const std::string& parameters) {
    return Refused({2, 3}, "Reshape", "reshape_param { " + parameters + " }");
  };
  CHECK(refused("axis: 3") == "its axes 3 to 2 are out of range for 2 dimensions");
  CHECK(refused("axis: 2147483647 num_axes: 2147483647") ==
        "its axes 2147483647 to 4294967294 are out of range for 2 dimensions");
  CHECK(refused("shape { dim: -1 dim: -1 }") == "its dimension 1 is -1");
  CHECK(refused("shape { dim: -1 dim: 4 }") == "6 elements do not fit its dimensions");
  CHECK(refused("shape { dim: -1 dim: 3 dim: 6148914691236517205 }") ==
        "dimension 2 is 6148914691236517205, out of range");
}

TEST_CASE("Caffe refusals: images of no size, padded, or grown out of range") {
  const auto interp = [](const std::string& parameters) {
    return Refused({1, 1, 3, 3}, "Interp", "interp_param { " + parameters + " }");
  };
  CHECK(interp("height: 0 width: 4") == "it would make an image of 0 x 4");
  CHECK(interp("pad_beg: -1") == "padding is not supported");
  CHECK(interp("zoom_factor: 0") == "its factors are below 1");
  CHECK(interp("zoom_factor: 2147483647") == "it would make an image of 4294967295 x 4294967295");
  CHECK(Refused({1, 3}, "Interp", "") == "its input has 2 dimensions, not 4");
  CHECK(Refused({1, 3}, "Upsample", "upsample_param { scale: 2 }") ==
        "its input has 2 dimensions, not 4");
  CHECK(Refused({1, 1, 3, 3}, "Upsample", "") == "only a whole 'scale' is supported, and no mask");
  CHECK(CaffeModel({1, 1, 3, 3}, R"(layer { name: "f" type: "Flatten" bottom: "x" top: "f" }
layer { name: "l" type: "Interp" bottom: "x" bottom: "f" top: "y" })")
            .Text() == "error: layer 'l' (Interp): its second input is no image");
}

std::string PriorBox(const std::vector<int>& dims, const std::string& parameters) {
  return CaffeModel(dims,
                    "layer { name: \"l\" type: \"PriorBox\" bottom: \"x\" bottom: \"x\" top: "
                    "\"boxes\" prior_box_param { " +
                        parameters +
                        " } }\nlayer { name: \"c\" type: \"ReLU\" bottom: \"boxes\" top: "
                        "\"y\" }")
      .Text();
}

TEST_CASE("Caffe refusals: prior boxes without a size, or for an image without one") {
  const std::string l = "error: layer 'l' (PriorBox): ";
  CHECK(PriorBox({1, 1, 2, 2}, "") == l + "it has no min_size");
  CHECK(PriorBox({1, 1, 2, 2}, "min_size: 1 max_size: 1 max_size: 2") ==
        l + "it has 2 max_size for 1 min_size");
  CHECK(PriorBox({1, 1, 2, 2}, "min_size: 1 aspect_ratio: -2") ==
        l + "an aspect ratio of -2 is out of range");
  CHECK(PriorBox({1, 1, 2, 2}, "min_size: 1 variance: 1 variance: 2") ==
        l + "it has 2 variances, not 1 or 4");
  CHECK(PriorBox({1, 2}, "min_size: 1") == l + "its inputs are no images of 4 dimensions");
  CHECK(PriorBox({1, 1, 2, 2}, "min_size: 1 img_h: 10") == l + "its image has 10 x 0 pixels");
  CHECK(PriorBox({1, 1, 2, 2}, "min_size: 1 img_size: 0") == l + "its image has 0 x 0 pixels");
}

// The text is as short as for one box: so much memory must not be taken before it is refused.
TEST_CASE("Caffe refusals: more prior boxes than memory may be taken for") {
  const std::string l = "error: layer 'l' (PriorBox): ";
  CHECK(PriorBox({1, 1, 16384, 16384}, "min_size: 1") == l + "it would make 2147483648 numbers");
  CHECK(PriorBox({1, 1, 8192, 8192}, "min_size: 1")
            .starts_with(l + "'l': the model's constants would take 21474836"));
  std::string many;
  for (int i = 0; i < 257; ++i) many += " min_size: 1";
  CHECK(PriorBox({1, 1, 2, 2}, many) ==
        l + "it has 257 min_size and 0 aspect_ratio, at most 256 are supported");
}

/// A detector's last layer, for 2 boxes of as many classes as given.
std::string Detection(const std::string& classes, int confidences, int priors) {
  const auto cut = std::to_string(8 + confidences);
  return CaffeModel(
             {1, 8 + confidences + priors},
             "layer { name: \"cut\" type: \"Slice\" bottom: \"x\" top: \"loc\" top: \"conf\" top: "
             "\"rest\" slice_param { slice_point: 8 slice_point: " +
                 cut +
                 " } } layer { name: \"p\" type: \"Reshape\" bottom: \"rest\" top: \"p\" "
                 "reshape_param { shape { dim: 1 dim: 2 dim: -1 } } } layer { name: \"l\" type: "
                 "\"DetectionOutput\" bottom: \"loc\" bottom: \"conf\" bottom: \"p\" top: \"y\" "
                 "detection_output_param { num_classes: " +
                 classes + " } }")
      .Text();
}

TEST_CASE("Caffe refusals: detections whose inputs do not belong together") {
  const std::string l = "error: layer 'l' (DetectionOutput): ";
  CHECK(Detection("3", 4, 16) == l + "its input 1 has 4 elements for 2 boxes");
  CHECK(Detection("3", 6, 8) == l + "its input 0 has 8 elements for 1 boxes");
  CHECK(Detection("3", 6, 12) == l + "its prior boxes are not [1, 2, 4 * boxes]");
  CHECK(Detection("1", 6, 16) == l + "1 classes of 2 boxes are out of range");
  CHECK(Detection("4294967295", 6, 16) == l + "4294967295 classes of 2 boxes are out of range");
}

}  // namespace
}  // namespace tenon::converter::test
