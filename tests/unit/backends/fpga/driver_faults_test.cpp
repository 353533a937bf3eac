// Faults of the board: each ends in an error that says so, within its deadline, and a board that
// has recovered computes right again.
#include <doctest/doctest.h>

#include <memory>

#include "tests/unit/backends/fpga/loopback_plan.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {

constexpr Deadline kWaitPatience = 300'000'000U;  // ns

/// A board that is opened now computes right.
void CheckRecovered() {
  Rig rig(512);
  REQUIRE(rig.failure() == "");
  REQUIRE(Words(rig.Load(LoopbackCode(16))) == "");
  rig.Fill(77);
  CHECK(Words(rig.Run()) == "");
  CHECK(rig.IsRight());
}

}  // namespace

TEST_CASE("faults: the accelerator says what stopped it, and the next start is right") {
  Rig rig(512);
  REQUIRE(Words(rig.Load(LoopbackCode(16, /*magic=*/2))) == "");
  CHECK(Contains(Words(rig.Run()), "a descriptor that means nothing"));
  CHECK_FALSE(rig.Drain().ok());
  CHECK(Words(rig.Drain()) == "");
  REQUIRE(Words(rig.Load(LoopbackCode(16))) == "");
  rig.Fill(5);
  CHECK(Words(rig.Run()) == "");
  CHECK(rig.IsRight());
}

TEST_CASE("faults: an AXI error is reported, and the next start is right") {
  const Fault fault("axi-error@2");
  Rig rig(512);
  REQUIRE(Words(rig.Load(LoopbackCode(16))) == "");
  rig.Fill(1);
  CHECK(Words(rig.Run()) == "");
  CHECK(Contains(Words(rig.Run()), "the memory answered with an error"));
  CHECK_FALSE(rig.Drain().ok());
  rig.Fill(2);
  CHECK(Words(rig.Run()) == "");
  CHECK(rig.IsRight());
}

TEST_CASE("faults: a stuck accelerator ends at the deadline, is given up, and opened anew") {
  const Fault fault("stuck@1");
  auto rig = std::make_unique<Rig>(512);
  REQUIRE(Words(rig->Load(LoopbackCode(16))) == "");
  void* event = nullptr;
  REQUIRE(Words(rig->Enqueue(&event)) == "");
  const Deadline begin = NowPlus(0);
  const Status status = rig->Wait(event, kWaitPatience);
  CHECK(status.code() == StatusCode::kDeadlineExceeded);
  CHECK(Contains(Words(status), "the accelerator did not answer"));
  CHECK(NowPlus(0) - begin < 20 * kWaitPatience);
  // Nothing touches the session's memory any more, so that the queue can be closed.
  CHECK_FALSE(rig->Drain(0).ok());
  CHECK(Words(rig->Drain(0)) == "");
  CHECK(Contains(Words(rig->Run()), "has been given up"));
  SUBCASE("while the old plan is still loaded") { CheckRecovered(); }
  SUBCASE("when the old plan is gone") {
    rig.reset();
    CheckRecovered();
  }
}

TEST_CASE("faults: without a deadline the driver's own limit holds") {
  const Fault fault("stuck@1");
  const Setting limit("TENON_FPGA_TIMEOUT_S", "1");
  Rig rig(512);
  REQUIRE(Words(rig.Load(LoopbackCode(16))) == "");
  CHECK(Contains(Words(rig.Run(60'000'000'000U)), "not ended within 1 s"));
}

TEST_CASE("faults: a start that XRT reports as failed is an error") {
  const Fault fault("error@1");
  Rig rig(512);
  REQUIRE(Words(rig.Load(LoopbackCode(16))) == "");
  CHECK(Contains(Words(rig.Run()), "XRT reports that the start failed"));
  CheckRecovered();
}

TEST_CASE("faults: a device that is lost is an error, and found again when it is back") {
  const Fault fault("lost@2");
  {
    Rig rig(512);
    REQUIRE(Words(rig.Load(LoopbackCode(16))) == "");
    rig.Fill(1);
    CHECK(Words(rig.Run()) == "");
    CHECK(Contains(Words(rig.Run()), "it is lost"));
    CHECK_FALSE(rig.Run().ok());
  }
  CheckRecovered();
}

TEST_CASE("faults: a board with another image than was loaded is refused in words") {
  const Fault fault("wrong-uuid");
  const Rig rig(512);
  CHECK(Contains(rig.failure(), "no accelerator to be had from the image"));
  CHECK(Contains(rig.failure(), "another process has it, or the board holds another image"));
}
