// What becomes of Caffe's layers.
#include <doctest/doctest.h>

#include "converter/ir/elements.hpp"
#include "tests/unit/converter/import/caffe/caffe_model.hpp"

namespace tenon::converter::test {
namespace {

std::string Layer(const std::string& type, const std::string& parameters) {
  return "layer { name: \"l\" type: \"" + type + "\" bottom: \"x\" top: \"y\" " + parameters + " }";
}

/// The statements between input and output, for a layer without weights.
std::string Lowered(const std::vector<int>& dims, const std::string& type,
                    const std::string& parameters) {
  const std::string text = CaffeModel(dims, Layer(type, parameters)).Text();
  const size_t begin = text.find('\n') + 1;
  const size_t end = text.find("output ");
  return end == std::string::npos ? text : text.substr(begin, end - begin);
}

TEST_CASE("Caffe: a convolution has one window for both directions, or two") {
  CaffeModel model({1, 2, 5, 5}, Layer("Convolution",
                                       "convolution_param { num_output: 2 kernel_size: 3 pad: 1 "
                                       "stride: 2 group: 2 dilation: 1 }"));
  model.Weights("l", std::vector<float>(18, 1), {2, 1, 3, 3});
  model.Weights("l", {7, 8}, {2});
  CHECK(model.Text().find("const %l/bias: f32[2] = [7, 8]\n"
                          "%y: f32[1,2,3,3] = conv(%x, %l/weights, %l/bias) {group=2, "
                          "strides=[2,2], pads=[1,1,1,1]} \"l\"\n") != std::string::npos);
  CaffeModel tall({1, 1, 5, 5}, Layer("Convolution",
                                      "convolution_param { num_output: 1 kernel_h: 3 kernel_w: 1 "
                                      "pad_h: 1 bias_term: false }"));
  tall.Weights("l", {1, 2, 3});
  CHECK(tall.Text().find("%y: f32[1,1,5,5] = conv(%x, %l/weights) {pads=[1,0,1,0]}") !=
        std::string::npos);
}

TEST_CASE("Caffe: an inner product flattens what follows its axis") {
  CaffeModel model({2, 1, 1, 2}, Layer("InnerProduct", "inner_product_param { num_output: 1 }"));
  model.Weights("l", {3, 4});
  model.Weights("l", {5});
  CHECK(model.Text() ==
        "input %x: f32[2,1,1,2]\n"
        "const %l/weights: f32[1,2] = [3, 4]\n"
        "const %l/bias: f32[1] = [5]\n"
        "%l/reshape: f32[2,2] = reshape(%x) {dims=[2,2]} \"l\"\n"
        "%y: f32[2,1] = matmul(%l/reshape, %l/weights, %l/bias) {transpose_b=1} \"l\"\n"
        "output %y\n");
}

TEST_CASE("Caffe: pooling rounds up, averages count padding, and either may be global") {
  CHECK(Lowered({1, 1, 6, 6}, "Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 2 }") ==
        "%y: f32[1,1,3,3] = max_pool(%x) {kernel=[3,3], strides=[2,2], ceil_mode=1} \"l\"\n");
  CHECK(Lowered({1, 1, 6, 6}, "Pooling",
                "pooling_param { pool: MAX kernel_size: 3 stride: 2 round_mode: FLOOR }") ==
        "%y: f32[1,1,2,2] = max_pool(%x) {kernel=[3,3], strides=[2,2]} \"l\"\n");
  CHECK(Lowered({1, 1, 6, 6}, "Pooling", "pooling_param { pool: AVE kernel_size: 3 pad: 1 }") ==
        "%y: f32[1,1,6,6] = average_pool(%x) {kernel=[3,3], pads=[1,1,1,1], ceil_mode=1, "
        "count_include_pad=1} \"l\"\n");
  CHECK(Lowered({1, 1, 6, 4}, "Pooling", "pooling_param { pool: AVE global_pooling: true }") ==
        "%y: f32[1,1,1,1] = average_pool(%x) {kernel=[6,4], ceil_mode=1, count_include_pad=1} "
        "\"l\"\n");
}

TEST_CASE("Caffe: a batch norm divides its statistics by what they count") {
  CaffeModel model({1, 1, 1, 2}, Layer("BatchNorm", "batch_norm_param { eps: 0 }"));
  model.Weights("l", {6});
  model.Weights("l", {8});
  model.Weights("l", {2});  // mean 3, variance 4
  CHECK(model.Text() ==
        "input %x: f32[1,1,1,2]\n"
        "const %l/scale: f32[1,1,1] = [0.5]\n"
        "const %l/shift: f32[1,1,1] = [-1.5]\n"
        "%l/binary: f32[1,1,1,2] = binary(%x, %l/scale) {function=mul} \"l\"\n"
        "%y: f32[1,1,1,2] = binary(%l/binary, %l/shift) \"l\"\n"
        "output %y\n");
}

TEST_CASE("Caffe: a scale goes along channels, in place too") {
  CaffeModel model({1, 2, 1, 1}, R"(layer { name: "l" type: "Scale" bottom: "x" top: "x"
  scale_param { bias_term: true } })");
  model.Weights("l", {2, 3});
  model.Weights("l", {4, 5});
  CHECK(model.Text() ==
        "input %x: f32[1,2,1,1]\n"
        "const %l/factors: f32[2,1,1] = [2, 3]\n"
        "const %l/bias: f32[2,1,1] = [4, 5]\n"
        "%l/binary: f32[1,2,1,1] = binary(%x, %l/factors) {function=mul} \"l\"\n"
        "%l/binary_1: f32[1,2,1,1] = binary(%l/binary, %l/bias) \"l\"\n"
        "output %l/binary_1 as \"x\"\n");
}

TEST_CASE("Caffe: PReLU has a slope for each channel") {
  CaffeModel model({1, 2, 1, 1}, Layer("PReLU", ""));
  model.Weights("l", {0.25F, 0.5F});
  CHECK(model.Text().find("const %l/slopes: f32[2,1,1] = [0.25, 0.5]\n"
                          "%y: f32[1,2,1,1] = binary(%x, %l/slopes) {function=prelu} \"l\"") !=
        std::string::npos);
}

TEST_CASE("Caffe: functions of one element") {
  const std::string y = "%y: f32[2] = unary(%x) ";
  CHECK(Lowered({2}, "ReLU", "relu_param { negative_slope: 0.5 }") ==
        y + "{function=leaky_relu, a=0.5} \"l\"\n");
  CHECK(Lowered({2}, "Sigmoid", "") == y + "{function=sigmoid} \"l\"\n");
  CHECK(Lowered({2}, "TanH", "") == y + "{function=tanh} \"l\"\n");
  CHECK(Lowered({2}, "ELU", "elu_param { alpha: 2 }") == y + "{function=elu, a=2} \"l\"\n");
  CHECK(Lowered({2}, "Power", "power_param { power: 2 scale: 3 shift: 4 }") ==
        "const %l/number: f32[] = [3]\n"
        "const %l/number_1: f32[] = [4]\n"
        "const %l/number_2: f32[] = [2]\n"
        "%l/binary: f32[2] = binary(%x, %l/number) {function=mul} \"l\"\n"
        "%l/binary_1: f32[2] = binary(%l/binary, %l/number_1) \"l\"\n"
        "%y: f32[2] = binary(%l/binary_1, %l/number_2) {function=pow} \"l\"\n");
}

TEST_CASE("Caffe: a sum of inputs with coefficients") {
  CHECK(CaffeModel({2}, R"(layer { name: "l" type: "Eltwise" bottom: "x" bottom: "x" top: "y"
  eltwise_param { operation: SUM coeff: 1 coeff: -1 } })")
            .Text()
            .find("%l/binary: f32[2] = binary(%x, %l/number) {function=mul} \"l\"\n"
                  "%y: f32[2] = binary(%x, %l/binary) \"l\"") != std::string::npos);
  CHECK(CaffeModel({2}, R"(layer { name: "l" type: "Eltwise" bottom: "x" bottom: "x" top: "y"
  eltwise_param { operation: MAX coeff: 1 coeff: -1 } })")
            .Text() ==
        "error: layer 'l' (Eltwise): 2 coefficients for 2 inputs, of which a sum takes one each");
}

TEST_CASE("Caffe: layers that move elements") {
  CHECK(Lowered({1, 4, 2, 3}, "Permute", "permute_param { order: 0 order: 2 order: 3 }") ==
        "%y: f32[1,2,3,4] = transpose(%x) {permutation=[0,2,3,1]} \"l\"\n");
  CHECK(Lowered({1, 4, 2, 3}, "Flatten", "flatten_param { axis: 1 end_axis: 2 }") ==
        "%y: f32[1,8,3] = reshape(%x) {dims=[1,8,3]} \"l\"\n");
  CHECK(Lowered({1, 4, 2, 3}, "Reshape", "reshape_param { shape { dim: 0 dim: -1 dim: 6 } }") ==
        "%y: f32[1,4,6] = reshape(%x) {dims=[1,4,6]} \"l\"\n");
  CHECK(Lowered({1, 4, 2, 3}, "Reshape", "reshape_param { axis: 2 shape { dim: 6 dim: 1 } }") ==
        "%y: f32[1,4,6,1] = reshape(%x) {dims=[1,4,6,1]} \"l\"\n");
  CHECK(CaffeModel({1, 3}, R"(layer { name: "l" type: "Slice" bottom: "x" top: "a" top: "b"
  slice_param { slice_point: 1 } })")
            .Text() ==
        "input %x: f32[1,3]\n"
        "%a: f32[1,1] = slice(%x) {begins=[0,0], sizes=[1,1], steps=[1,1]} \"l\"\n"
        "%b: f32[1,2] = slice(%x) {begins=[0,1], sizes=[1,2], steps=[1,1]} \"l\"\n"
        "output %a\noutput %b\n");
  CHECK(CaffeModel({1, 3}, R"(layer { name: "l" type: "Concat" bottom: "x" bottom: "x" top: "y" })")
            .Text()
            .find("%y: f32[1,6] = concat(%x, %x) {axis=1}") != std::string::npos);
}

TEST_CASE("Caffe: images grow with corners on corners, or pixel by pixel") {
  CHECK(Lowered({1, 1, 3, 3}, "Interp", "interp_param { zoom_factor: 2 }") ==
        "%y: f32[1,1,5,5] = resize(%x) {mode=linear, coordinates=align_corners, nearest=floor, "
        "sizes=[1,1,5,5], scales=[1,1,1.6666666,1.6666666]} \"l\"\n");
  CHECK(Lowered({1, 1, 3, 3}, "Upsample", "upsample_param { scale: 2 }") ==
        "%y: f32[1,1,6,6] = resize(%x) {coordinates=asymmetric, nearest=floor, "
        "sizes=[1,1,6,6], scales=[1,1,2,2]} \"l\"\n");
}

TEST_CASE("Caffe: prior boxes depend on shapes alone") {
  const CaffeModel model({1, 1, 1, 2}, R"(
layer { name: "l" type: "PriorBox" bottom: "x" bottom: "x" top: "boxes"
  prior_box_param { min_size: 1 max_size: 4 aspect_ratio: 4 flip: false variance: 0.5
  img_h: 10 img_w: 20 } }
layer { name: "c" type: "Concat" bottom: "boxes" bottom: "boxes" top: "y"
  concat_param { axis: 1 } })");
  const std::string text = model.Text();
  CHECK(text.find("const %l/boxes: f32[1,2,24]") != std::string::npos);
  CHECK(text.find("%y: f32[1,4,24] = concat") != std::string::npos);
}

TEST_CASE("Caffe: a normalisation divides by the length over channels") {
  CaffeModel model({1, 2, 1, 1}, Layer("Normalize",
                                       "norm_param { across_spatial: false channel_shared: false "
                                       "eps: 0.5 scale_filler { type: \"constant\" } }"));
  model.Weights("l", {20, 30});
  CHECK(model.Text() ==
        "input %x: f32[1,2,1,1]\n"
        "const %l/number: f32[] = [0.5]\n"
        "const %l/scale: f32[2,1,1] = [20, 30]\n"
        "%l/reduce: f32[1,1,1,1] = reduce(%x) {function=sum_square, axes_mask=2} \"l\"\n"
        "%l/binary: f32[1,1,1,1] = binary(%l/reduce, %l/number) \"l\"\n"
        "%l/unary: f32[1,1,1,1] = unary(%l/binary) {function=sqrt} \"l\"\n"
        "%l/binary_1: f32[1,2,1,1] = binary(%x, %l/unary) {function=div} \"l\"\n"
        "%y: f32[1,2,1,1] = binary(%l/binary_1, %l/scale) {function=mul} \"l\"\n"
        "output %y\n");
}

TEST_CASE("Caffe: parameters out of range are refused with the layer's name") {
  CHECK(Lowered({1, 1, 4, 4}, "Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 2 }") ==
        "error: layer 'l' (Pooling): stochastic pooling is not supported");
  CHECK(Lowered({1, 4}, "Softmax", "softmax_param { axis: 2 }") ==
        "error: layer 'l' (Softmax): its axis 2 is out of range for 2 dimensions");
  CHECK(Lowered({1, 4}, "LRN", "lrn_param { norm_region: WITHIN_CHANNEL }") ==
        "error: layer 'l' (LRN): norm_region WITHIN_CHANNEL is not supported");
  CHECK(Lowered({1, 4}, "Slice", "slice_param { slice_point: 9 }") ==
        "error: layer 'l' (Slice): its slice points do not rise inside the 4 elements");
}

TEST_CASE("Caffe: a transposed convolution is one that makes all phases of the output") {
  CaffeModel model({1, 2, 3, 3}, Layer("Deconvolution",
                                       "convolution_param { num_output: 1 kernel_size: 4 pad: 1 "
                                       "stride: 2 bias_term: false }"));
  model.Weights("l", std::vector<float>(32, 1), {2, 1, 4, 4});
  const std::string text = model.Text();
  CHECK(text.find("= conv(%x, ") != std::string::npos);
  CHECK(text.find("%y: f32[1,1,6,6] = slice(") != std::string::npos);
}

/// A detector's last layer for 2 boxes and 3 classes: x has the locations.
std::string Detections(const std::string& parameters) {
  return "layer { name: \"c\" type: \"Power\" bottom: \"x\" top: \"c\" }"
         "layer { name: \"cut\" type: \"Slice\" bottom: \"c\" top: \"loc\" top: \"conf\" top: "
         "\"rest\" slice_param { axis: 1 slice_point: 8 slice_point: 14 } }"
         "layer { name: \"p\" type: \"Reshape\" bottom: \"rest\" top: \"p\" reshape_param { shape "
         "{ dim: 1 dim: 2 dim: 8 } } }"
         "layer { name: \"l\" type: \"DetectionOutput\" bottom: \"loc\" bottom: \"conf\" bottom: "
         "\"p\" top: \"y\" detection_output_param { num_classes: 3 " +
         parameters + " } }";
}

TEST_CASE("Caffe: detections have as many rows as may be kept") {
  const auto rows = [](const std::string& parameters) {
    const std::string text = CaffeModel({1, 30}, Detections(parameters)).Text();
    const size_t at = text.rfind("%y: f32[1,1,");
    return at == std::string::npos ? text : text.substr(at + 12, text.find(']', at) - at - 12);
  };
  CHECK(rows("keep_top_k: 3") == "3,7");
  CHECK(rows("keep_top_k: -1") == "4,7");
  CHECK(rows("keep_top_k: 9 background_label_id: -1") == "6,7");
  CHECK(rows("nms_param { top_k: 1 }") == "2,7");
}

TEST_CASE("Caffe: what DetectionOutput cannot do here is refused") {
  const auto refusal = [](const std::string& parameters) {
    return CaffeModel({1, 30}, Detections(parameters)).Text();
  };
  CHECK(refusal("share_location: false").find("share_location: false is not supported") !=
        std::string::npos);
  CHECK(refusal("nms_param { eta: 0.5 }").find("an eta below 1 is not supported") !=
        std::string::npos);
}

TEST_CASE(
    "Caffe: prior boxes are corners as parts of the image, in Caffe's order, then variances") {
  using Values = std::vector<double>;
  const auto boxes = [](const std::string& parameters) {
    const CaffeModel model(
        {1, 1, 1, 1},
        "layer { name: \"l\" type: \"PriorBox\" bottom: \"x\" bottom: \"x\" top: "
        "\"b\" prior_box_param { " +
            parameters + " } } layer { name: \"c\" type: \"ReLU\" bottom: \"b\" top: \"y\" }");
    const Result<Graph> graph = model.Import();
    REQUIRE(graph.ok());
    return ReadElements(graph->tensor(graph->FindTensor("l/boxes")));
  };
  // The least size, the mean of least and most, the ratio, and the ratio turned.
  CHECK(boxes("min_size: 2 max_size: 8 aspect_ratio: 4 aspect_ratio: 1 img_size: 8 variance: 0.25 "
              "variance: 0.5 variance: 1 variance: 2") ==
        Values{0.375, 0.375,  0.625, 0.625,  0.25,   0.25, 0.75,   0.75,  //
               0.25,  0.4375, 0.75,  0.5625, 0.4375, 0.25, 0.5625, 0.75,  //
               0.25,  0.5,    1,     2,      0.25,   0.5,  1,      2,     //
               0.25,  0.5,    1,     2,      0.25,   0.5,  1,      2});
  CHECK(boxes("min_size: 16 clip: true img_h: 8 img_w: 32 variance: 0.5") ==
        Values{0.25, 0, 0.75, 1, 0.5, 0.5, 0.5, 0.5});
  CHECK(boxes("min_size: 2 step: 4 offset: 1 img_size: 8") ==
        Values{0.375, 0.375, 0.625, 0.625, double{0.1F}, double{0.1F}, double{0.1F}, double{0.1F}});
}

TEST_CASE("Caffe: a bias of one array or of a second input goes along its axis") {
  CaffeModel model({1, 2, 1, 1}, Layer("Bias", ""));
  model.Weights("l", {4, 5});
  CHECK(model.Text() ==
        "input %x: f32[1,2,1,1]\n"
        "const %l/factors: f32[2,1,1] = [4, 5]\n"
        "%y: f32[1,2,1,1] = binary(%x, %l/factors) \"l\"\n"
        "output %y\n");
  CHECK(CaffeModel({2, 3}, R"(layer { name: "s" type: "Slice" bottom: "x" top: "a" top: "b"
  slice_param { axis: 0 } }
layer { name: "f" type: "Flatten" bottom: "b" top: "f" flatten_param { axis: 0 } }
layer { name: "l" type: "Scale" bottom: "a" bottom: "f" top: "y" })")
            .Text()
            .find("%y: f32[1,3] = binary(%a, %f) {function=mul} \"l\"") != std::string::npos);
}

TEST_CASE("Caffe: local responses are normalised across channels, softmax goes along its axis") {
  CHECK(Lowered({1, 4, 1, 1}, "LRN", "lrn_param { local_size: 3 alpha: 0.5 beta: 2 k: 4 }") ==
        "%y: f32[1,4,1,1] = lrn(%x) {size=3, alpha=0.5, beta=2, bias=4} \"l\"\n");
  CHECK(Lowered({1, 4, 2}, "Softmax", "softmax_param { axis: -1 }") ==
        "%y: f32[1,4,2] = softmax(%x) {axis=2} \"l\"\n");
}

TEST_CASE("Caffe: sizes, softplus, products and largest elements") {
  const std::string y = "%y: f32[2] = unary(%x) ";
  CHECK(Lowered({2}, "AbsVal", "") == y + "{function=abs} \"l\"\n");
  CHECK(Lowered({2}, "BNLL", "") == y + "{function=softplus} \"l\"\n");
  const auto of_two = [](const std::string& operation) {
    return CaffeModel({2},
                      "layer { name: \"l\" type: \"Eltwise\" bottom: \"x\" bottom: \"x\" top: "
                      "\"y\" eltwise_param { operation: " +
                          operation + " } }")
        .Text();
  };
  CHECK(of_two("PROD").find("= binary(%x, %x) {function=mul}") != std::string::npos);
  CHECK(of_two("MAX").find("= binary(%x, %x) {function=max}") != std::string::npos);
}

TEST_CASE("Caffe: a slice without points makes equal parts") {
  const std::string text =
      CaffeModel({1, 4}, R"(layer { name: "l" type: "Slice" bottom: "x" top: "a" top: "b" })")
          .Text();
  CHECK(text.find("%a: f32[1,2] = slice(%x) {begins=[0,0]") != std::string::npos);
  CHECK(text.find("%b: f32[1,2] = slice(%x) {begins=[0,2]") != std::string::npos);
}

TEST_CASE("Caffe: an image grows to the size given, or to that of a second input") {
  CHECK(Lowered({1, 1, 3, 3}, "Interp", "interp_param { height: 5 width: 7 }")
            .find("sizes=[1,1,5,7]") != std::string::npos);
  CHECK(Lowered({1, 1, 5, 5}, "Interp", "interp_param { shrink_factor: 2 }")
            .find("sizes=[1,1,3,3]") != std::string::npos);
  CHECK(CaffeModel({1, 1, 3, 3}, R"(layer { name: "u" type: "Upsample" bottom: "x" top: "u"
  upsample_param { scale: 3 } }
layer { name: "l" type: "Interp" bottom: "x" bottom: "u" top: "y" }
layer { name: "s" type: "Silence" bottom: "u" })")
            .Text()
            .find("%y: f32[1,1,9,9] = resize(%x)") != std::string::npos);
}

TEST_CASE("Caffe: a transposed convolution adds its bias to every phase") {
  CaffeModel model(
      {1, 1, 2, 2},
      Layer("Deconvolution", "convolution_param { num_output: 1 kernel_size: 2 stride: 2 }"));
  model.Weights("l", {1, 2, 3, 4}, {1, 1, 2, 2});
  model.Weights("l", {5}, {1});
  const std::string text = model.Text();
  CHECK(text.find("expand(%l/reshape_2) {dims=[1,4]}") != std::string::npos);
  CHECK(text.find("%y: f32[1,1,4,4] = slice(") != std::string::npos);
}

TEST_CASE("Caffe: boxes are decoded from corners, from sizes of the prior, or from centres") {
  const auto ops = [](const std::string& parameters) {
    const std::string text = CaffeModel({1, 30}, Detections(parameters)).Text();
    CAPTURE(text);
    return std::pair(text.find("{function=exp}") != std::string::npos,
                     text.find("{function=sub}") != std::string::npos);
  };
  CHECK(ops("") == std::pair(false, false));
  CHECK(ops("code_type: CORNER_SIZE") == std::pair(false, true));
  CHECK(ops("code_type: CENTER_SIZE") == std::pair(true, true));
  const auto has_clip = [](const std::string& parameters) {
    return CaffeModel({1, 30}, Detections(parameters)).Text().find("function=clip") !=
           std::string::npos;
  };
  CHECK(has_clip("clip: true"));
  CHECK(!has_clip("clip: false"));
}

}  // namespace
}  // namespace tenon::converter::test
