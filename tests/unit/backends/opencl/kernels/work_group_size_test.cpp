// Kernels that take smaller work-groups than their device does, as those that need many registers
// do on GPUs.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/backends/cpu/kernels/pool_cases.hpp"
#include "tests/unit/backends/opencl/row_groups.hpp"

namespace tenon::opencl::testing {
namespace {

using cpu::testing::InferOutput;
using cpu::testing::PoolCase;

/// A driver whose kernels take work-groups of `most` work-items, and no larger ones.
class SmallGroups {
 public:
  explicit SmallGroups(size_t most) {
    most_ = most;
    largest_ = 0;
    functions_ = Cl();
    enqueue_ = functions_.EnqueueNDRangeKernel;
    functions_.GetKernelWorkGroupInfo = [](cl_kernel, cl_device_id, cl_kernel_work_group_info what,
                                           size_t bytes, void* value, size_t*) {
      if (what != CL_KERNEL_WORK_GROUP_SIZE || bytes != sizeof(size_t))
        return cl_int{CL_INVALID_VALUE};
      *static_cast<size_t*>(value) = most_;
      return cl_int{CL_SUCCESS};
    };
    functions_.EnqueueNDRangeKernel = [](cl_command_queue queue, cl_kernel kernel,
                                         cl_uint dimensions, const size_t* offset,
                                         const size_t* global, const size_t* local, cl_uint waits,
                                         const cl_event* list, cl_event* event) {
      const size_t items = local[0] * local[1] * local[2];
      largest_ = std::max(largest_, items);
      if (items > most_) return cl_int{CL_INVALID_WORK_GROUP_SIZE};
      return enqueue_(queue, kernel, dimensions, offset, global, local, waits, list, event);
    };
    InterceptClFunctions(&functions_);
  }
  SmallGroups(const SmallGroups&) = delete;
  SmallGroups& operator=(const SmallGroups&) = delete;
  ~SmallGroups() { InterceptClFunctions(nullptr); }

  [[nodiscard]] static size_t Largest() { return largest_; }

 private:
  static inline size_t most_ = 0;
  static inline size_t largest_ = 0;
  static inline decltype(ClFunctions::EnqueueNDRangeKernel) enqueue_ = nullptr;
  ClFunctions functions_;
};

/// A maximum by the kernel of any layout, which is launched in groups of 64 work-items.
double PoolExcess() {
  Generator random(1);
  PoolCase c;
  c.x = {1, 5, 12, 13};
  c.attributes.kernel[0] = c.attributes.kernel[1] = 3;
  REQUIRE(InferOutput(c));
  PairedOp op("opencl.max_pool.any");
  op.AddInput(Random(c.x, Layout::kChannelsLast, random));
  op.AddOutput(c.y, Layout::kChannelsLast);
  return op.Excess(c.attributes);
}

}  // namespace

TEST_CASE("OpenCL: groups are made as small as a kernel wants them") {
  for (const size_t most : {64, 7, 1}) {
    const SmallGroups driver(most);
    CAPTURE(most);
    CHECK(PoolExcess() <= 1.0);
    CHECK(SmallGroups::Largest() == (most == 7 ? 4 : most));  // halves
  }
}

TEST_CASE("OpenCL: a kernel whose work-items work together says that its groups are too large") {
  DeviceOp op("opencl.reduce.any");
  op.AddInput(Tensor::From(DType::kF32, {3, 200}, std::vector<float>(600, 1.0F)));
  op.AddOutput(Tensor(DType::kF32, {3}));
  const SmallGroups driver(8);
  const Status status = op.Run(ReduceAttributes{ReduceFunction::kSum, 0b10, 0}, 1, Sharing(16));
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(Text(status).find("takes work-groups of 8 work-items on this device, 16 are needed") !=
        std::string::npos);
}

}  // namespace tenon::opencl::testing
