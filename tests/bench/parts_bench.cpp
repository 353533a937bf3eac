// What parts cost: one convolution whole, and cut into patches of a few rows, on one thread.
//
// Prints microseconds of one inference (the median of 200 runs) and the ratio to the whole.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "converter/ir/text.hpp"
#include "tenon/tenon.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon {
namespace {

struct Shape {
  const char* name;
  int channels;
  int outputs;
  int size;    ///< height and width
  int kernel;  ///< 1 or 3, stride 1, same padding
  int group;
};

constexpr Shape kShapes[] = {
    {"1x1 64-64 56x56", 64, 64, 56, 1, 1},
    {"1x1 16-96 112x112", 16, 96, 112, 1, 1},
    {"1x1 384-64 14x14", 384, 64, 14, 1, 1},
    {"3x3 64-64 56x56", 64, 64, 56, 3, 1},
    {"3x3 depthwise 96 112x112", 96, 96, 112, 3, 96},
    {"3x3 3-32 224x224", 3, 32, 224, 3, 1},
    {"3x3 16-16 32x32", 16, 16, 32, 3, 1},
};

/// A ReLU in front and behind keeps inputs and outputs, whose layout is the user's, out of it.
std::string Text(const Shape& shape, int parts) {
  const int halo = shape.kernel / 2;
  std::string text = fmt::format(
      "graph parts\ninput %in: f32[1,{0},{2},{2}]\n%x = unary(%in) {{function=relu}}\n"
      "const %w: f32[{1},{3},{4},{4}] = random(1)\nconst %b: f32[{1}] = random(2)\n",
      shape.channels, shape.outputs, shape.size, shape.channels / shape.group, shape.kernel);
  std::string list;
  for (int p = 0; p < parts; ++p) {
    const int begin = shape.size * p / parts;
    const int end = shape.size * (p + 1) / parts;
    const int top = std::max(begin - halo, 0);
    const int bottom = std::min(end + halo, shape.size);
    text += fmt::format(
        "%s{0} = slice(%x) {{begins=[0,0,{1},0], sizes=[1,{2},{3},{4}], steps=[1,1,1,1]}}\n", p,
        top, shape.channels, bottom - top, shape.size);
    text += fmt::format("%c{0} = conv(%s{0}, %w, %b) {{group={1}, pads=[{2},{3},{4},{3}]}}\n", p,
                        shape.group, halo - (begin - top), halo, halo - (bottom - end));
    list += fmt::format("{}%c{}", p == 0 ? "" : ", ", p);
  }
  text += parts == 1
              ? "%y = unary(%c0) {function=abs}\n"
              : fmt::format("%j = concat({}) {{axis=2}}\n%y = unary(%j) {{function=abs}}\n", list);
  return text + "output %y\n";
}

/// Microseconds of the convolutions alone, and the kernel that ran the last of them.
struct Timing {
  double microseconds = 0;
  std::string kernel;
};

Timing Measure(const std::string& text) {
  auto graph = converter::ParseGraph(text);
  if (!graph.ok()) {
    std::fprintf(stderr, "%s\n", graph.error().message.c_str());
    std::exit(1);
  }
  converter::ConvertOptions options = test::OptionsFor();
  options.compile.order.mode = converter::OrderMode::kSource;
  options.fuse = false;
  const auto conversion = converter::ConvertGraph(std::move(*graph), options);
  if (!conversion.ok()) {
    std::fprintf(stderr, "%s\n", conversion.error().message.c_str());
    std::exit(1);
  }
  const auto path = std::filesystem::temp_directory_path() / "tenon_parts_bench.tenon";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(conversion->plan.data()),
             static_cast<std::streamsize>(conversion->plan.size()));
  auto plan = Plan::Open(path.string(), 1);
  std::filesystem::remove(path);
  if (!plan) {
    std::fprintf(stderr, "%s\n", plan.error().message.c_str());
    std::exit(1);
  }
  auto session = Session::Open(*plan);
  std::vector<double> runs;
  tenon_trace trace{};
  struct Total {
    const Plan* plan;
    uint64_t nanoseconds;
  } total{&*plan, 0};
  trace.context = &total;
  trace.record = [](void* context, size_t op, uint64_t nanoseconds) {
    auto& sum = *static_cast<Total*>(context);
    if (std::string_view(sum.plan->Op(op).kind) == "conv") sum.nanoseconds += nanoseconds;
  };
  trace.clock_nanoseconds = [](void*) {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
  Timing timing;
  for (int run = 0; run < 220; ++run) {
    total.nanoseconds = 0;
    if (session->RunTraced(trace)) std::exit(1);
    if (run >= 20) runs.push_back(static_cast<double>(total.nanoseconds) / 1e3);
  }
  std::nth_element(runs.begin(), runs.begin() + 100, runs.end());
  timing.microseconds = runs[100];
  for (size_t i = 0; i < plan->OpCount(); ++i) {
    if (std::string_view(plan->Op(i).kind) == "conv") timing.kernel = plan->Op(i).kernel;
  }
  return timing;
}

void Run() {
  for (const Shape& shape : kShapes) {
    const Timing whole = Measure(Text(shape, 1));
    std::printf("%-26s whole %9.1f us  %s\n", shape.name, whole.microseconds, whole.kernel.c_str());
    for (const int rows : {8, 4, 2, 1}) {
      const int parts = shape.size / rows;
      const Timing cut = Measure(Text(shape, parts));
      std::printf("    %3d parts of %d rows    %9.1f us  %.2fx  %s\n", parts, rows,
                  cut.microseconds, cut.microseconds / whole.microseconds, cut.kernel.c_str());
    }
  }
}

}  // namespace
}  // namespace tenon

int main() { tenon::Run(); }
