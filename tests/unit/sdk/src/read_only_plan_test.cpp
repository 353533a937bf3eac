// Nothing of a plan is written, so that power may fail at any time: plans work in read-only memory.
#include <sys/mman.h>

#include <cstring>

#include "tests/unit/sdk/src/plan_of_testing.hpp"

namespace tenon::test {
namespace {

/// A copy of a plan that nobody can write to.
class ReadOnly {
 public:
  explicit ReadOnly(const std::vector<uint8_t>& bytes) : size_(bytes.size()) {
    data_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(data_ != MAP_FAILED);
    std::memcpy(data_, bytes.data(), size_);
    REQUIRE(mprotect(data_, size_, PROT_READ) == 0);
  }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;
  ~ReadOnly() { munmap(data_, size_); }
  [[nodiscard]] const void* data() const { return data_; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

TEST_CASE("Power loss: a plan in read-only memory is checked, loaded, run and verified") {
  const ReadOnly file(PlanOf(kSmallModel));
  tenon_error error{};
  size_t scratch_size = 0;
  size_t state_size = 0;
  REQUIRE(tenon_plan_scratch_size(file.data(), file.size(), &scratch_size, &error) == TENON_OK);
  REQUIRE(tenon_plan_state_size(file.data(), file.size(), &state_size, &error) == TENON_OK);
  Memory scratch = MakeMemory(scratch_size);
  Memory state = MakeMemory(state_size);
  CHECK(tenon_plan_check(file.data(), file.size(), scratch.data(), scratch_size, nullptr, nullptr,
                         &error) == TENON_OK);
  const tenon_backend* backend = tenon_backend_cpu_portable();
  const tenon_backends backends{&backend, 1};
  tenon_plan* plan = nullptr;
  REQUIRE(tenon_plan_load(file.data(), file.size(), &backends, 1, state.data(), state_size,
                          scratch.data(), scratch_size, &plan, &error) == TENON_OK);
  {
    const SessionForTest session(plan);
    CHECK(tenon_session_run(session.get(), &error) == TENON_OK);
    const ReadOnly input(std::vector<uint8_t>(128));
    CHECK(tenon_session_bind_input(session.get(), 0, input.data(), 128, &error) == TENON_OK);
    CHECK(tenon_session_run(session.get(), &error) == TENON_OK);
  }
  CHECK(tenon_plan_verify(plan, &error) == TENON_OK);
  tenon_plan_unload(plan);
}

}  // namespace
}  // namespace tenon::test
