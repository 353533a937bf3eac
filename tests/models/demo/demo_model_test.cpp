// The digit classifier that ships with Tenon: converted, run on all held-out images, compared with
// their labels and with ONNX Runtime's answers (made by sdk/models/digits/train.py).
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sdk/examples/classify/npy.hpp"
#include "tenon/converter.hpp"
#include "tenon/tenon.hpp"

namespace {

constexpr size_t kPixels = 64;
constexpr size_t kClasses = 10;
constexpr size_t kImages = 360;

std::string SourceFile(const std::string& path) {
  const char* root = std::getenv("TENON_SOURCE_DIR");
  return (std::filesystem::path(root != nullptr ? root : ".") / path).string();
}

std::string DigitsFile(const std::string& name) { return SourceFile("sdk/models/digits/" + name); }

/// A plan in a file of its own, for as long as this lives.
class PlanFile {
 public:
  explicit PlanFile(const tenon::ConvertRequest& request)
      : path_(std::filesystem::temp_directory_path() /
              ("tenon_demo_model_" + std::to_string(getpid()) + ".tenon")) {
    const auto converted = tenon::Convert(request);
    REQUIRE_MESSAGE(converted, converted.error().message);
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(converted->bytes.data()),
               static_cast<std::streamsize>(converted->bytes.size()));
  }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;
  ~PlanFile() { std::filesystem::remove(path_); }

  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

tenon::ConvertRequest Request(int64_t batch) {
  tenon::ConvertRequest request;
  request.model = DigitsFile("digits.onnx");
  request.board = "x86-64";
  request.batch = batch;
  return request;
}

std::vector<float> Floats(const std::string& name) {
  auto values = ReadNpy<float>(DigitsFile(name), "<f4");
  REQUIRE(values.has_value());
  return *values;
}

/// Probabilities of all held-out images, `batch` images a run.
std::vector<float> RunHeldOut(int64_t batch, const tenon_backend* backend) {
  const std::vector<float> images = Floats("held_out_images.npy");
  REQUIRE(images.size() == kImages * kPixels);
  const PlanFile file(Request(batch));
  auto plan = tenon::Plan::Open(file.path(), 1, {backend});
  REQUIRE_MESSAGE(plan, plan.error().message);
  auto session = tenon::Session::Open(*plan);
  REQUIRE(session);
  const auto step = static_cast<size_t>(batch);
  std::vector<float> answers(kImages * kClasses);
  for (size_t i = 0; i < kImages; i += step) {
    std::memcpy(session->InputData(0), &images[i * kPixels], step * kPixels * sizeof(float));
    const auto error = session->Run();
    REQUIRE_FALSE(error.has_value());
    std::memcpy(&answers[i * kClasses], session->OutputData(0), step * kClasses * sizeof(float));
  }
  return answers;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = difference <= largest ? largest : difference;  // NaN is the largest
  }
  return largest;
}

}  // namespace

TEST_CASE("Digits: at least 98 % of the held-out images are right") {
  const auto labels = ReadNpy<int64_t>(DigitsFile("held_out_labels.npy"), "<i8");
  REQUIRE(labels.has_value());
  REQUIRE(labels->size() == kImages);

  const std::vector<float> answers = RunHeldOut(1, tenon_backend_cpu());

  size_t right = 0;
  for (size_t i = 0; i < kImages; ++i) {
    const auto first = answers.begin() + static_cast<std::ptrdiff_t>(i * kClasses);
    const auto best = std::max_element(first, first + kClasses) - first;
    right += best == (*labels)[i] ? 1 : 0;
  }
  CHECK(right >= 353);
}

// Tolerance: f32 sums of 288 products in another order, or by Winograd, through three layers.
TEST_CASE("Digits: every probability is ONNX Runtime's, one by one and in one batch") {
  const std::vector<float> expected = Floats("held_out_probabilities.npy");
  CHECK(LargestDifference(RunHeldOut(1, tenon_backend_cpu()), expected) < 1e-5);
  CHECK(LargestDifference(RunHeldOut(360, tenon_backend_cpu()), expected) < 1e-5);
  CHECK(LargestDifference(RunHeldOut(1, tenon_backend_cpu_portable()), expected) < 1e-5);
}

TEST_CASE("Digits: the same request gives the same bytes") {
  const auto first = tenon::Convert(Request(1));
  const auto second = tenon::Convert(Request(1));
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->bytes == second->bytes);
}

TEST_CASE("Convert: a limit that the model cannot meet is an error of its own kind") {
  tenon::ConvertRequest request = Request(1);
  request.memory_limits["ram"] = 1000;
  const auto converted = tenon::Convert(request);
  REQUIRE_FALSE(converted);
  CHECK(converted.error().kind == tenon::ConvertError::Kind::kDoesNotFit);
  CHECK_FALSE(converted.error().message.empty());
}

TEST_CASE("Convert: an unknown memory space, board or file is refused with its name") {
  tenon::ConvertRequest space = Request(1);
  space.memory_limits["attic"] = 1000;
  const auto no_space = tenon::Convert(space);
  REQUIRE_FALSE(no_space);
  CHECK(no_space.error().kind == tenon::ConvertError::Kind::kUsage);
  CHECK(no_space.error().message.find("attic") != std::string::npos);

  tenon::ConvertRequest board = Request(1);
  board.board = "no-such-board";
  const auto no_board = tenon::Convert(board);
  REQUIRE_FALSE(no_board);
  CHECK(no_board.error().kind == tenon::ConvertError::Kind::kUsage);

  tenon::ConvertRequest model = Request(1);
  model.model = DigitsFile("train.py");
  const auto no_model = tenon::Convert(model);
  REQUIRE_FALSE(no_model);
  CHECK(no_model.error().kind == tenon::ConvertError::Kind::kInput);
}
