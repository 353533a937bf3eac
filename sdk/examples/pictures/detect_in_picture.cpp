// Where things or faces are on a picture. Two kinds of networks: scores and corners of boxes in two
// outputs (UltraFace and its like), and one map of cells (FastestDet and its like).
//
//   detect_in_picture PLAN PICTURE [--mean M] [--scale S] [--order rgb|bgr] [--labels FILE]
//                                  [--least 0.6] [--overlap 0.3] [--out MARKED.ppm]
#include "boxes.hpp"
#include "options.hpp"

namespace {

using namespace pictures;

std::vector<Box> BoxesOf(const tenon::Plan& plan, const tenon::Session& session, float least) {
  const auto values = [&](size_t i) { return ValuesOf(plan.Output(i), session.OutputData(i)); };
  const tenon_port_info first = plan.Output(0);
  if (plan.OutputCount() == 1 && first.rank == 4) {
    return BoxesOfCells(values(0), first.dims[2], first.dims[3], least);
  }
  if (plan.OutputCount() != 2) return {};
  const tenon_port_info second = plan.Output(1);
  const size_t corners = second.rank > 0 && second.dims[second.rank - 1] == 4 ? 1 : 0;
  return BoxesOfCorners(values(1 - corners), values(corners), least);
}

/// Draws a frame and writes the picture as PPM.
bool WriteMarked(Picture picture, const std::vector<Box>& boxes, const std::string& file) {
  const auto mark = [&](int x, int y) {
    if (x < 0 || y < 0 || x >= picture.width || y >= picture.height) return;
    const uint8_t kGreen[3] = {0, 255, 0};
    std::memcpy(&picture.rgb[static_cast<size_t>(y * picture.width + x) * 3], kGreen, 3);
  };
  for (const Box& box : boxes) {
    const int left = static_cast<int>(box.left * static_cast<float>(picture.width));
    const int right = static_cast<int>(box.right * static_cast<float>(picture.width));
    const int top = static_cast<int>(box.top * static_cast<float>(picture.height));
    const int bottom = static_cast<int>(box.bottom * static_cast<float>(picture.height));
    for (int x = left; x <= right; ++x) mark(x, top), mark(x, bottom);
    for (int y = top; y <= bottom; ++y) mark(left, y), mark(right, y);
  }
  std::ofstream stream(file, std::ios::binary);
  stream << "P6\n" << picture.width << ' ' << picture.height << "\n255\n";
  stream.write(reinterpret_cast<const char*>(picture.rgb.data()),
               static_cast<std::streamsize>(picture.rgb.size()));
  stream.close();
  return static_cast<bool>(stream);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  if (arguments.words.size() != 2) {
    return Complain(
        "usage: detect_in_picture PLAN PICTURE [--mean M] [--scale S] "
        "[--order rgb|bgr] [--labels FILE] [--least 0.6] [--overlap 0.3] [--out FILE]");
  }
  auto plan = tenon::Plan::Open(arguments.words[0]);
  if (!plan) return Complain(plan.error().message);
  auto session = tenon::Session::Open(*plan);
  if (!session) return Complain(session.error().message);
  std::string why;
  const std::optional<Picture> picture = Read(arguments.words[1], &why);
  if (!picture) return Complain(why);
  if (plan->InputCount() != 1 ||
      !Fill(*picture, ReadPreparation(arguments), plan->Input(0), session->InputData(0))) {
    return Complain("the plan does not take one picture: convert its model with --batch 1");
  }
  if (const auto error = session->Run()) return Complain(error->message);

  const std::vector<Box> boxes =
      Distinct(BoxesOf(*plan, *session, arguments.Number("--least", 0.6F)),
               arguments.Number("--overlap", 0.3F));
  const std::vector<std::string> labels = ReadLabels(arguments.Option("--labels", ""));
  for (const Box& box : boxes) {
    const auto width = static_cast<float>(picture->width);
    const auto height = static_cast<float>(picture->height);
    std::printf("%s %.3f at %.0f,%.0f to %.0f,%.0f\n", LabelOf(labels, box.label).c_str(),
                static_cast<double>(box.score), static_cast<double>(box.left * width),
                static_cast<double>(box.top * height), static_cast<double>(box.right * width),
                static_cast<double>(box.bottom * height));
  }
  std::printf("%zu found\n", boxes.size());
  const std::string out = arguments.Option("--out", "");
  if (!out.empty() && !WriteMarked(*picture, boxes, out)) return Complain("cannot write " + out);
  return 0;
}
