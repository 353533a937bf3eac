// Graphs whose convolutions have been cut into patches by hand, for tests of what parts share.
#pragma once

#include <fmt/format.h>

#include <string>

namespace tenon::test {

struct PatchedConv {
  int patches = 4;
  int rows = 2;  ///< of each patch's output
  int channels = 16;
  int outputs = 16;
  int width = 10;
  const char* bias = "%b";  ///< "_": none
};

/// The convolution of `shape`, 3x3 with padding, cut into patches along the height.
inline std::string PatchedConvText(const PatchedConv& shape) {
  const int height = shape.patches * shape.rows;
  std::string text = fmt::format(
      "graph patched\ninput %x as \"x\": f32[1,{},{},{}]\n"
      "const %w: f32[{},{},3,3] = random(1)\nconst %b: f32[{}] = random(2)\n",
      shape.channels, height, shape.width, shape.outputs, shape.channels, shape.outputs);
  std::string parts;
  for (int p = 0; p < shape.patches; ++p) {
    const int top = p == 0 ? 0 : p * shape.rows - 1;
    const int bottom = p + 1 == shape.patches ? height : (p + 1) * shape.rows + 1;
    text += fmt::format(
        "%s{0} = slice(%x) {{begins=[0,0,{1},0], sizes=[1,{2},{3},{4}], "
        "steps=[1,1,1,1]}}\n",
        p, top, shape.channels, bottom - top, shape.width);
    text += fmt::format("%c{0} = conv(%s{0}, %w, {1}) {{pads=[{2},1,{3},1]}} \"patch {0}\"\n", p,
                        shape.bias, p == 0 ? 1 : 0, p + 1 == shape.patches ? 1 : 0);
    parts += fmt::format("{}%c{}", p == 0 ? "" : ", ", p);
  }
  return text + fmt::format("%y = concat({}) {{axis=2}}\noutput %y as \"y\"\n", parts);
}

}  // namespace tenon::test
