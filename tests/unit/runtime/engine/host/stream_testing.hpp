// Stages for tests of streams: what they do is a function of the test's.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine/host/clock.hpp"
#include "runtime/engine/host/input_stream.hpp"

namespace tenon::test {

/// The number that a request carries: its first input array holds it.
inline uint64_t IdOf(const StreamRequest& request) {
  return *static_cast<const uint64_t*>(request.inputs[0]);
}

class FunctionWork final : public StageWork {
 public:
  using Body = std::function<Status(size_t lane, size_t stage, uint64_t number, uint64_t id)>;
  explicit FunctionWork(Body body) : body_(std::move(body)) {}
  Status Run(size_t lane, size_t stage, uint64_t number, const StreamRequest& request) override {
    return body_(lane, stage, number, IdOf(request));
  }

 private:
  Body body_;
};

/// stage 0 -> stage 1 -> ..., with rings of `depth`.
inline std::vector<StreamEdge> ChainOf(size_t stages, uint16_t depth) {
  std::vector<StreamEdge> edges;
  for (uint16_t i = 1; i < stages; ++i) {
    edges.push_back({static_cast<uint16_t>(i - 1), i, depth, static_cast<uint16_t>(i - 1)});
  }
  return edges;
}

inline StreamShape ShapeOf(size_t lanes, size_t stages, const std::vector<StreamEdge>& edges) {
  StreamShape shape;
  shape.lanes = lanes;
  shape.stages = stages;
  shape.edges = {edges.data(), edges.size()};
  shape.channels = edges.size();
  shape.inputs = 1;
  return shape;
}

inline std::string TextOf(const Status& status) {
  char text[256];
  status.Format(Span<char>(text, sizeof text));
  return text;
}

inline Deadline InSeconds(double seconds) {
  return DeadlineAfter(static_cast<uint64_t>(seconds * 1e9));
}

/// Hands in ids[index]; -1 is no ticket, so a failure shows.
inline uint64_t SubmitId(InputStream& stream, const uint64_t& id, double seconds = 60) {
  const void* input = &id;
  uint64_t ticket = 0;
  const Status status = stream.Submit(&input, nullptr, InSeconds(seconds), &ticket);
  REQUIRE_MESSAGE(status.ok(), TextOf(status));
  return ticket;
}

/// The outcome's text, empty for success.
inline std::string WaitFor(InputStream& stream, uint64_t ticket, double seconds = 60) {
  StreamOutcome outcome;
  const Status status = stream.Wait(ticket, InSeconds(seconds), &outcome);
  REQUIRE_MESSAGE(status.ok(), TextOf(status));
  CHECK((outcome.code == StatusCode::kOk) == (outcome.text[0] == '\0'));
  return outcome.text;
}

}  // namespace tenon::test
