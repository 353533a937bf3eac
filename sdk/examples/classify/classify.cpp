// Classifies 8x8 images of handwritten digits with a plan made by `tenon convert`.
//
//   classify PLAN IMAGES.npy...                    draws every image beside its answer
//   classify PLAN --labels LABELS.npy IMAGES.npy   counts the right answers
//
// A file of images holds one or more, f32, 64 numbers each. Exit status: 0 done, 1 it failed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "npy.hpp"
#include "tenon/tenon.hpp"

namespace {

constexpr size_t kSide = 8;
constexpr size_t kPixels = kSide * kSide;
constexpr size_t kClasses = 10;
using Clock = std::chrono::steady_clock;

struct Answer {
  size_t digit = 0;
  double probability = 0;
  double microseconds = 0;  ///< of the run alone
};

int Complain(const std::string& message) {
  std::fprintf(stderr, "classify: error: %s\n", message.c_str());
  return 1;
}

tenon::Expected<Answer> Classify(tenon::Session& session, const float* image) {
  std::memcpy(session.InputData(0), image, kPixels * sizeof(float));
  const auto start = Clock::now();
  if (const auto error = session.Run()) return *error;
  const std::chrono::duration<double, std::micro> elapsed = Clock::now() - start;
  const auto* scores = static_cast<const float*>(session.OutputData(0));
  const float* best = std::max_element(scores, scores + kClasses);
  return Answer{static_cast<size_t>(best - scores), *best, elapsed.count()};
}

void Draw(const float* image, const Answer& answer) {
  for (size_t y = 0; y < kSide; ++y) {
    std::printf("  ");
    for (size_t x = 0; x < kSide; ++x) {
      const auto grey = static_cast<size_t>(std::clamp(image[y * kSide + x], 0.0F, 1.0F) * 4.99F);
      const char shade = " .+*#"[grey];
      std::printf("%c%c", shade, shade);
    }
    if (y == kSide / 2) {
      std::printf("   -> %zu  (%.1f %%, %.1f us)", answer.digit, 100 * answer.probability,
                  answer.microseconds);
    }
    std::printf("\n");
  }
}

int DrawAll(tenon::Session& session, const std::vector<float>& images) {
  for (size_t i = 0; i + kPixels <= images.size(); i += kPixels) {
    const auto answer = Classify(session, &images[i]);
    if (!answer) return Complain(answer.error().message);
    Draw(&images[i], *answer);
  }
  return 0;
}

int Count(tenon::Session& session, const std::vector<float>& images,
          const std::vector<int64_t>& labels) {
  const size_t count = images.size() / kPixels;
  if (count == 0 || count != labels.size()) return Complain("as many labels as images are needed");
  size_t right = 0;
  std::vector<double> times;
  for (size_t i = 0; i < count; ++i) {
    const auto answer = Classify(session, &images[i * kPixels]);
    if (!answer) return Complain(answer.error().message);
    times.push_back(answer->microseconds);
    if (static_cast<int64_t>(answer->digit) == labels[i]) {
      ++right;
    } else {
      std::printf("image %zu: %lld taken for %zu (%.1f %%)\n", i, static_cast<long long>(labels[i]),
                  answer->digit, 100 * answer->probability);
    }
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(count / 2),
                   times.end());
  std::printf("%zu of %zu images right (%.2f %%), median %.1f us each\n", right, count,
              100.0 * static_cast<double>(right) / static_cast<double>(count), times[count / 2]);
  return 0;
}

int Run(const std::vector<std::string>& arguments) {
  auto plan = tenon::Plan::Open(arguments[0]);
  if (!plan) return Complain(plan.error().message);
  if (plan->InputCount() != 1 || plan->Input(0).bytes != kPixels * sizeof(float) ||
      plan->OutputCount() != 1 || plan->Output(0).bytes != kClasses * sizeof(float)) {
    return Complain("the plan is not one of an 8x8 digit classifier with batch 1");
  }
  auto session = tenon::Session::Open(*plan);
  if (!session) return Complain(session.error().message);

  const bool counting = arguments[1] == "--labels";
  std::optional<std::vector<int64_t>> labels;
  if (counting) {
    labels = ReadNpy<int64_t>(arguments[2], "<i8");
    if (!labels) return Complain("'" + arguments[2] + "' holds no i64 numbers");
  }
  for (size_t i = counting ? 3 : 1; i < arguments.size(); ++i) {
    const auto images = ReadNpy<float>(arguments[i], "<f4");
    if (!images) return Complain("'" + arguments[i] + "' holds no f32 numbers");
    const int status = counting ? Count(*session, *images, *labels) : DrawAll(*session, *images);
    if (status != 0) return status;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2 || (arguments[1] == "--labels" && arguments.size() != 4)) {
    return Complain("usage: classify PLAN [--labels LABELS.npy] IMAGES.npy...");
  }
  return Run(arguments);
}
