#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Rows = std::vector<int64_t>;

/// One image; boxes as y, x, y, x.
struct Case {
  std::vector<float> boxes;
  std::vector<std::vector<float>> scores;  ///< by class
  std::vector<std::vector<int64_t>> order;

  Status Run(const NonMaxSuppressionAttributes& attributes, Rows& rows) const {
    OpFixture op(OpKind::kNonMaxSuppression);
    const auto count = static_cast<int32_t>(boxes.size() / 4);
    const auto classes = static_cast<int32_t>(scores.size());
    op.AddInput(Tensor::From(DType::kF32, {1, count, 4}, boxes));
    std::vector<float> all_scores;
    for (const auto& of_class : scores) {
      all_scores.insert(all_scores.end(), of_class.begin(), of_class.end());
    }
    std::vector<int64_t> all_order;
    for (const auto& of_class : order) {
      all_order.insert(all_order.end(), of_class.begin(), of_class.end());
    }
    op.AddInput(Tensor::From(DType::kF32, {1, classes, count}, all_scores));
    op.AddInput(Tensor::From(DType::kI64, {1, classes, count}, all_order));
    const Tensor y = op.AddOutput(Tensor(DType::kI64, {attributes.rows, 3}));
    const Status status = op.Run(attributes);
    rows = y.Values<int64_t>();
    return status;
  }
};

/// Box 1 lies half over box 0, box 2 far from both.
Case ThreeBoxes() {
  return {{0, 0, 2, 2, 1, 0, 3, 2, 10, 10, 12, 12}, {{0.5F, 0.9F, 0.7F}}, {{1, 2, 0}}};
}

TEST_CASE("NonMaxSuppression: takes boxes by score, less those that overlap one before") {
  Rows rows;
  REQUIRE(ThreeBoxes().Run({4, 3, 0.3F, 0, 0, 0}, rows).ok());
  CHECK(rows == Rows{0, 0, 1, 0, 0, 2, -1, -1, -1, -1, -1, -1});
}

TEST_CASE("NonMaxSuppression: an overlap of just the threshold is kept") {
  Rows rows;
  // The boxes share 2 of 6.
  REQUIRE(ThreeBoxes().Run({3, 3, 2.0F / 6, 0, 0, 0}, rows).ok());
  CHECK(rows == Rows{0, 0, 1, 0, 0, 2, 0, 0, 0});
}

TEST_CASE("NonMaxSuppression: takes scores above the least one, where there is one") {
  Rows rows;
  REQUIRE(ThreeBoxes().Run({3, 3, 1, 0.7F, 1, 0}, rows).ok());
  CHECK(rows == Rows{0, 0, 1, -1, -1, -1, -1, -1, -1});
}

TEST_CASE("NonMaxSuppression: takes at most so many of a class, and in all") {
  Case two = ThreeBoxes();
  two.scores.push_back({0.1F, 0.2F, 0.3F});
  two.order.push_back({2, 1, 0});
  Rows rows;
  REQUIRE(two.Run({4, 1, 1, 0, 0, 0}, rows).ok());
  CHECK(rows == Rows{0, 0, 1, 0, 1, 2, -1, -1, -1, -1, -1, -1});
  REQUIRE(two.Run({4, 3, 1, 0, 0, 0}, rows).ok());
  CHECK(rows == Rows{0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 1, 2});
}

TEST_CASE("NonMaxSuppression: corners may come in either order, and boxes by their centre") {
  Case turned = ThreeBoxes();
  turned.boxes = {2, 2, 0, 0, 3, 0, 1, 2, 12, 10, 10, 12};
  Rows rows;
  REQUIRE(turned.Run({3, 3, 0.3F, 0, 0, 0}, rows).ok());
  CHECK(rows == Rows{0, 0, 1, 0, 0, 2, -1, -1, -1});
  turned.boxes = {1, 1, 2, 2, 1, 2, 2, 2, 11, 11, 2, 2};
  REQUIRE(turned.Run({3, 3, 0.3F, 0, 0, 1}, rows).ok());
  CHECK(rows == Rows{0, 0, 1, 0, 0, 2, -1, -1, -1});
}

TEST_CASE("NonMaxSuppression: boxes without an area overlap nothing") {
  Case flat = ThreeBoxes();
  flat.boxes = {0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0};
  Rows rows;
  REQUIRE(flat.Run({3, 3, 0, 0, 0, 0}, rows).ok());
  CHECK(rows == Rows{0, 0, 1, 0, 0, 2, 0, 0, 0});
}

TEST_CASE("NonMaxSuppression: an order that names no box is an error") {
  for (const int64_t box : {int64_t{-1}, int64_t{3}, INT64_MAX}) {
    Case wrong = ThreeBoxes();
    wrong.order[0][2] = box;
    Rows rows;
    CHECK(wrong.Run({3, 3, 0.3F, 0, 0, 0}, rows).code() == StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tenon::cpu::testing
