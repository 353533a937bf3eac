// GridSample, against ONNX Runtime 1.32.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {

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
