// GridSample, against ONNX Runtime 1.32.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

/// [1, 2, 3, 4] at a grid [1, 5, 6, 2].
ModelBuilder Model(int opset = 16) {
  return ModelBuilder(opset)
      .Input("x", {1, 2, 3, 4})
      .Input("g", {1, 5, 6, 2})
      .Node("GridSample", {"x", "g"}, {"y"});
}

std::string LineOf(const ModelBuilder& model) {
  const std::string text = model.Text();
  const size_t begin = text.find("%y");
  return begin == std::string::npos ? text : text.substr(begin, text.find(" \"n\"") - begin);
}

}  // namespace

TEST_CASE("GridSample: is one op, by either opset's names") {
  CHECK(LineOf(Model().Output("y")) == "%y: f32[1,2,5,6] = grid_sample(%x, %g)");
  CHECK(LineOf(Model(20).Set("mode", "cubic").Set("padding_mode", "border").Output("y")) ==
        "%y: f32[1,2,5,6] = grid_sample(%x, %g) {mode=cubic, padding=border}");
  CHECK(LineOf(Model()
                   .Set("mode", "nearest")
                   .Set("padding_mode", "reflection")
                   .Set("align_corners", 1)
                   .Output("y")) ==
        "%y: f32[1,2,5,6] = grid_sample(%x, %g) {mode=nearest, padding=reflection, "
        "align_corners=1}");
}

TEST_CASE("GridSample: modes that are not known, other ranks and other dtypes are refused") {
  CHECK(LineOf(Model().Set("mode", "area").Output("y")) ==
        "error: node 'n' (GridSample): mode 'area' is not known");
  CHECK(LineOf(Model().Set("padding_mode", "wrap").Output("y")) ==
        "error: node 'n' (GridSample): padding_mode 'wrap' is not known");
  CHECK(LineOf(ModelBuilder(20)
                   .Input("x", {1, 2, 3, 4, 5})
                   .Input("g", {1, 5, 6, 7, 3})
                   .Node("GridSample", {"x", "g"}, {"y"})
                   .Output("y")) ==
        "error: node 'n' (GridSample): only images [N, C, H, W] with a grid [N, H, W, 2] are "
        "supported");
}

TEST_CASE("GridSample: cubic at the border repeats the pixels there, wherever the point lies") {
  for (const bool corners : {false, true}) {
    const auto model = ModelBuilder(16)
                           .Input("x", {1, 1, 3, 4})
                           .Input("g", {1, 2, 2, 2})
                           .Node("GridSample", {"x", "g"}, {"y"})
                           .Set("mode", "bicubic")
                           .Set("padding_mode", "border")
                           .Set("align_corners", corners ? 1 : 0)
                           .Output("y");
    const Floats image = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const Floats grid = {-1.5F, -1.5F, -0.9F, 0.8F, 1.4F, 0.1F, 0.2F, -0.3F};
    CheckClose(Run(model, {image, grid}),
               corners ? Floats{0.58984375F, 8.505346F, 8.643004F, 5.1950016F}
                       : Floats{1.0F, 9.273752F, 8.83588F, 4.6803756F});
  }
}

}  // namespace tenon::converter::test
