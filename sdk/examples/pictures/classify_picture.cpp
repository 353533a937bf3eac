// What is on a picture, by a network that gives one score for each class.
//
//   classify_picture PLAN PICTURE... [--mean M] [--scale S] [--order rgb|bgr] [--labels FILE]
//                                    [--top N]
#include "options.hpp"

int main(int argc, char** argv) {
  using namespace pictures;
  const Arguments arguments(argc, argv);
  if (arguments.words.size() < 2) {
    return Complain(
        "usage: classify_picture PLAN PICTURE... [--mean M] [--scale S] "
        "[--order rgb|bgr] [--labels FILE] [--top N]");
  }
  auto plan = tenon::Plan::Open(arguments.words[0]);
  if (!plan) return Complain(plan.error().message);
  auto session = tenon::Session::Open(*plan);
  if (!session) return Complain(session.error().message);
  const Preparation preparation = ReadPreparation(arguments);
  const std::vector<std::string> labels = ReadLabels(arguments.Option("--labels", ""));
  const auto top = static_cast<size_t>(arguments.Number("--top", 3));

  for (size_t i = 1; i < arguments.words.size(); ++i) {
    std::string why;
    const std::optional<Picture> picture = Read(arguments.words[i], &why);
    if (!picture) return Complain(why);
    if (plan->InputCount() != 1 ||
        !Fill(*picture, preparation, plan->Input(0), session->InputData(0))) {
      return Complain("the plan does not take one picture: convert its model with --batch 1");
    }
    if (const auto error = session->Run()) return Complain(error->message);
    const std::vector<float> scores = ValuesOf(plan->Output(0), session->OutputData(0));
    std::printf("%s:", arguments.words[i].c_str());
    for (const size_t best : Best(scores, top)) {
      std::printf("  %s %.4f", LabelOf(labels, best).c_str(), static_cast<double>(scores[best]));
    }
    std::printf("\n");
  }
  return 0;
}
