// Streams that run for long, all at once in one process: every output is that of its own input, in
// the order in which inputs were handed in, and the memory in use does not grow.
//
//   stream_soak SECONDS PLAN=MODE...   MODE: pipeline, between-ops or sequential; two replicas each
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tenon/stream.h"
#include "tenon/tenon.h"

namespace {

using Clock = std::chrono::steady_clock;
using Values = std::vector<std::vector<float>>;  // of every input, or of every output

constexpr size_t kDifferent = 16;  // inputs, in turn
constexpr size_t kInFlight = 6;
constexpr long kMostGrowth = 4L << 20;

std::atomic<bool> is_wrong{false};

void Check(tenon_status status, const tenon_error& error, const char* call) {
  if (status == TENON_OK) return;
  std::fprintf(stderr, "%s: %s\n", call, error.message);
  std::exit(1);
}

std::vector<void*> Addresses(Values& values) {
  std::vector<void*> addresses;
  for (std::vector<float>& port : values) addresses.push_back(port.data());
  return addresses;
}

class Soak {
 public:
  Soak(const std::string& path, const std::string& mode) : name_(mode) {
    tenon_error error{};
    tenon_stream_options options{};
    options.mode = mode == "pipeline"      ? TENON_STREAM_PIPELINE
                   : mode == "between-ops" ? TENON_STREAM_INTER
                                           : TENON_STREAM_SEQUENTIAL;
    options.replicas = 2;
    const char* program = mode == "pipeline" ? "pipeline" : nullptr;
    Check(tenon_plan_open_program(path.c_str(), program, nullptr, 1, &plan_, &error), error,
          "open");
    for (size_t i = 0; i < kDifferent; ++i) AddInput(i);
    Check(tenon_stream_open(plan_, &options, &stream_, &error), error, "stream");
  }
  Soak(const Soak&) = delete;
  Soak& operator=(const Soak&) = delete;
  ~Soak() {
    tenon_stream_close(stream_);
    tenon_plan_close(plan_);
  }

  /// Hands inputs in until `end`, a few at a time, and looks at their outputs one after another.
  void Run(Clock::time_point end) {
    std::vector<Values> outputs(kInFlight, expected_[0]);
    tenon_error error{};
    uint64_t submitted = 0;
    while (Clock::now() < end || done_ < submitted) {
      if (Clock::now() < end && submitted - done_ < kInFlight) {
        const std::vector<void*> in = Addresses(inputs_[submitted % kDifferent]);
        const std::vector<void*> out = Addresses(outputs[submitted % kInFlight]);
        uint64_t ticket = 0;
        Check(tenon_stream_submit(stream_, in.data(), out.data(), UINT64_MAX, &ticket, &error),
              error, "submit");
        if (ticket != ++submitted) Fail("a ticket out of order");
        continue;
      }
      Check(tenon_stream_wait(stream_, done_ + 1, UINT64_MAX, &error), error, "wait");
      Compare(outputs[done_ % kInFlight], expected_[done_ % kDifferent]);
      ++done_;
    }
  }

  void Print() const { std::printf("%s: %zu inputs in order\n", name_.c_str(), size_t{done_}); }

 private:
  /// One more input, and what a session makes of it.
  void AddInput(size_t number) {
    tenon_error error{};
    tenon_session* session = nullptr;
    Check(tenon_session_open(plan_, &session, &error), error, "session");
    std::mt19937 random(static_cast<uint32_t>(number));
    Values inputs;
    Values outputs;
    tenon_port_info info;
    for (size_t i = 0; i < tenon_plan_input_count(plan_); ++i) {
      if (tenon_plan_input(plan_, i, &info) != TENON_OK) std::exit(1);
      inputs.emplace_back(info.bytes / sizeof(float));
      for (float& value : inputs.back())
        value = static_cast<float>(random() % 2000) / 1000.0F - 1.0F;
      Check(tenon_session_bind_input(session, i, inputs.back().data(), info.bytes, &error), error,
            "in");
    }
    for (size_t i = 0; i < tenon_plan_output_count(plan_); ++i) {
      if (tenon_plan_output(plan_, i, &info) != TENON_OK) std::exit(1);
      outputs.emplace_back(info.bytes / sizeof(float));
      Check(tenon_session_bind_output(session, i, outputs.back().data(), info.bytes, &error), error,
            "out");
    }
    Check(tenon_session_run(session, &error), error, "run");
    tenon_session_close(session);
    inputs_.push_back(std::move(inputs));
    expected_.push_back(std::move(outputs));
  }

  void Compare(const Values& found, const Values& wanted) {
    for (size_t port = 0; port < wanted.size(); ++port) {
      for (size_t i = 0; i < wanted[port].size(); ++i) {
        if (!(std::fabs(found[port][i] - wanted[port][i]) <= 1e-4F))
          return Fail("another input's output");
      }
    }
  }

  void Fail(const char* what) {
    std::fprintf(stderr, "%s, input %zu: %s\n", name_.c_str(), size_t{done_}, what);
    is_wrong = true;
  }

  std::string name_;
  tenon_plan* plan_ = nullptr;
  tenon_stream* stream_ = nullptr;
  std::vector<Values> inputs_;
  std::vector<Values> expected_;
  uint64_t done_ = 0;
};

/// Bytes of this process that are in memory.
long Resident() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  long resident = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::exit(1);
  std::fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const std::chrono::duration<double> seconds(std::atof(arguments[1]));
  std::vector<Soak*> soaks;
  for (int i = 2; i < count; ++i) {
    const std::string argument = arguments[i];
    const size_t at = argument.rfind('=');
    soaks.push_back(new Soak(argument.substr(0, at), argument.substr(at + 1)));
  }
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds);
  std::vector<std::thread> users;
  users.reserve(soaks.size());
  for (Soak* const soak : soaks) users.emplace_back([=] { soak->Run(end); });
  std::this_thread::sleep_for(seconds / 4);  // every thread has its memory by then
  const long before = Resident();
  for (std::thread& user : users) user.join();
  const long after = Resident();
  for (const Soak* const soak : soaks) {
    soak->Print();
    delete soak;
  }
  std::printf("%.1f MB in memory after a quarter of %.0f s, %.1f MB at the end\n",
              static_cast<double>(before) / 1e6, seconds.count(), static_cast<double>(after) / 1e6);
  if (after - before > kMostGrowth) {
    std::fprintf(stderr, "the memory in use grew by %ld bytes\n", after - before);
    return 1;
  }
  return is_wrong ? 1 : 0;
}
