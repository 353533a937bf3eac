#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "converter/map/priority_table.hpp"
#include "runtime/base/dtype.hpp"

namespace tenon::converter {
namespace {

MeasuredOp Measured(std::string op, std::string key, std::string backend, double ms,
                    int64_t elements = 1000, int32_t kernel = 0) {
  MeasuredOp measured;
  measured.facts.op = std::move(op);
  measured.facts.dtype = DTypeName(DType::kF32);
  measured.facts.kernel = kernel;
  measured.facts.channels = 16;
  measured.facts.elements = elements;
  measured.key = std::move(key);
  measured.backend = std::move(backend);
  measured.ms = ms;
  return measured;
}

TEST_CASE("Ranking: the backend that takes less time for a kind of op comes first") {
  const auto rows =
      RankBackends({Measured("conv", "a", "cpu", 3), Measured("conv", "a", "opencl", 2),
                    Measured("conv", "b", "cpu", 1), Measured("conv", "b", "opencl", 1.5)});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].backend == "opencl");
  CHECK(rows[0].op == "conv");
  CHECK(rows[0].priority == 1);
  CHECK(rows[1].backend == "cpu");
  CHECK(rows[1].priority == 2);
}

TEST_CASE("Ranking: ops that were not measured on every backend say nothing of the kind") {
  const auto rows =
      RankBackends({Measured("conv", "a", "cpu", 3), Measured("conv", "a", "opencl", 2),
                    Measured("conv", "b", "cpu", 0.1), Measured("softmax", "s", "cpu", 1)});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].backend == "opencl");
}

TEST_CASE("Ranking: an op found in many places weighs as much as all of them") {
  MeasuredOp often_cpu = Measured("conv", "a", "cpu", 1);
  MeasuredOp often_opencl = Measured("conv", "a", "opencl", 2);
  often_cpu.places = often_opencl.places = 10;
  const auto rows = RankBackends({often_cpu, often_opencl, Measured("conv", "b", "cpu", 5),
                                  Measured("conv", "b", "opencl", 1)});
  CHECK(rows.front().backend == "cpu");
}

TEST_CASE("Ranking: small ops stay on the CPU where launches cost more than the device saves") {
  const auto rows = RankBackends(
      {Measured("unary", "s", "cpu", 1, 100), Measured("unary", "s", "opencl", 5, 100),
       Measured("unary", "m", "cpu", 2, 5000), Measured("unary", "m", "opencl", 6, 5000),
       Measured("unary", "l", "cpu", 50, 90000), Measured("unary", "l", "opencl", 9, 90000)});
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].backend == "cpu");
  CHECK(rows[0].when.max_elements == 5000);
  CHECK(rows[0].when.min_elements == 0);
  CHECK(rows[2].backend == "opencl");
  CHECK(rows[2].when.min_elements == 5001);
}

TEST_CASE("Ranking: a bound that saves next to nothing is not made") {
  const auto rows = RankBackends(
      {Measured("unary", "s", "cpu", 1.00, 100), Measured("unary", "s", "opencl", 1.01, 100),
       Measured("unary", "l", "cpu", 50, 90000), Measured("unary", "l", "opencl", 49, 90000)});
  CHECK(rows.size() == 2);
}

TEST_CASE("Ranking: the bound is on the fact that tells the backends apart best") {
  const auto rows = RankBackends(
      {Measured("conv", "a", "cpu", 1, 10, 1), Measured("conv", "a", "opencl", 2, 10, 1),
       Measured("conv", "b", "cpu", 9, 20, 3), Measured("conv", "b", "opencl", 2, 20, 3),
       Measured("conv", "c", "cpu", 1, 30, 1), Measured("conv", "c", "opencl", 2, 30, 1)});
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].when.max_kernel == 1);
  CHECK(rows[0].backend == "cpu");
  CHECK(rows[2].when.min_kernel == 2);
  CHECK(rows[2].backend == "opencl");
}

}  // namespace
}  // namespace tenon::converter
