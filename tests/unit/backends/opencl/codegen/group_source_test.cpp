// Kernels of several ops merged into one: what the source has, and which ops can be part of it.
// That it computes the same is shown by whole conversions
// (tests/unit/converter/driver/fused_branches_test.cpp).
#include "backends/opencl/codegen/group_source.hpp"

#include <doctest/doctest.h>

namespace tenon::opencl {
namespace {

SubKernel Launch(const char* file, const char* options, const char* function) {
  SubKernel launch;
  launch.on_cpu.file = file;
  launch.on_cpu.options = options;
  launch.on_cpu.function = function;
  launch.with_local = launch.on_cpu;
  launch.options = options;
  return launch;
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("GroupSource: launches of one program share its text and one call") {
  const SubKernel pool = Launch("pool.cl", "-DMAXIMUM", "pool");
  const std::string source = GroupSource({pool, pool, Launch("pool.cl", "", "pool")});
  CHECK(CountOf(source, "#define pool s0_pool\n") == 1);
  CHECK(CountOf(source, "#define pool s1_pool\n") == 1);
  CHECK(CountOf(source, "#define MAXIMUM 1\n") == 1);
  CHECK(CountOf(source, "TENON_FOR_EACH_ITEM(items) s0_pool(") == 1);
  CHECK(CountOf(source, "TENON_FOR_EACH_ITEM(items) s1_pool(") == 1);
  CHECK(CountOf(source, "__kernel") == 1);
}

TEST_CASE("GroupSource: what a program defines is gone behind it") {
  const std::string source =
      GroupSource({Launch("unary.cl", "-DFUNCTION=1", "unary"),
                   Launch("binary.cl", "-DFUNCTION=0 -DACTIVATION=0", "binary")});
  CHECK(CountOf(source, "#define FUNCTION ") == 2);
  CHECK(CountOf(source, "#undef FUNCTION\n") == 2);
  CHECK(CountOf(source, "#undef unary\n") == 1);
  CHECK(CountOf(source, "#undef binary_of_vectors\n") == 1);
}

TEST_CASE("GroupSource: options that differ between devices stand under a condition") {
  SubKernel launch = Launch("unary.cl", "-DFUNCTION=1", "unary");
  launch.with_local.options = launch.options = "-DFUNCTION=2";
  const std::string source = GroupSource({launch});
  CHECK(source.find("#ifdef ON_CPU\n#define FUNCTION 1\n#else\n#define FUNCTION 2\n#endif\n") !=
        std::string::npos);
  launch.with_local.options = "-DFUNCTION=3";
  CHECK(GroupSource({launch}).find(
            "#ifdef ON_CPU\n#define FUNCTION 1\n#elif defined(LOCAL_MEMORY)\n"
            "#define FUNCTION 3\n#else\n#define FUNCTION 2\n#endif\n") != std::string::npos);
}

TEST_CASE("GroupSource: sub-kernels share local memory, and all work-items reach its barriers") {
  SubKernel small = Launch("conv_tile.cl", "", "conv_tile");
  small.with_local.file = "conv_tile_local.cl";
  small.local_floats = 1000;
  SubKernel large = small;
  large.on_cpu.options = "-DTILE_PIXELS=7";
  large.local_floats = 4001;
  const std::string source = GroupSource({small, large, Launch("unary.cl", "", "unary")});
  CHECK(CountOf(source, "__local JOIN(DTYPE, 4) tenon_local[1001];") == 1);
  CHECK(CountOf(source, ", tenon_local);") == 2);
  CHECK(CountOf(source, "const uint item = get_local_id(0);\n    s0_conv_tile(") == 1);
  CHECK(CountOf(source, "TENON_FOR_EACH_ITEM(items) s0_conv_tile(") == 1);
  CHECK(CountOf(source, "TENON_FOR_EACH_ITEM(items) s2_unary(") == 1);
  CHECK(ParameterCount(small) == ParameterCount(Launch("conv_tile.cl", "", "conv_tile")));
}

TEST_CASE("GroupSource: the same launches give the same text") {
  const std::vector<SubKernel> launches = {Launch("softmax.cl", "", "softmax"),
                                           Launch("lrn.cl", "", "lrn")};
  CHECK(GroupSource(launches) == GroupSource(launches));
}

TEST_CASE("GroupSource: every phase has a kernel with the launches of that phase") {
  SubKernel gemm = Launch("conv_tile.cl", "", "gemm_tile");
  gemm.phase = 1;
  const SubKernel pack = Launch("matmul_pack.cl", "", "matmul_pack");
  const SubKernel pool = Launch("pool.cl", "", "pool");
  const std::string source = GroupSource({pack, gemm, pool});
  CHECK(CountOf(source, "__kernel") == 2);
  const size_t second = source.find("void " + GroupKernelName(1) + "(");
  const size_t first = source.find("void " + GroupKernelName(0) + "(");
  REQUIRE(second != std::string::npos);
  REQUIRE(first < second);
  CHECK(source.find("s0_matmul_pack(tenon_find_item") < second);
  CHECK(source.find("s2_pool(tenon_find_item") < second);
  CHECK(source.find("s1_gemm_tile(tenon_find_item") > second);
  CHECK(source.rfind("s2_pool(tenon_find_item") < second);
}

TEST_CASE("ParameterCount: a launch has the function's parameters and two for its ranges") {
  CHECK(ParameterCount(Launch("unary.cl", "-DFUNCTION=1", "unary")) == 9 + 2);
  CHECK(ParameterCount(Launch("pool.cl", "", "pool")) == 12 + 2);
}

TEST_CASE("ParameterBytes: four convolutions fit what every device takes, five do not") {
  const SubKernel conv = Launch("conv_tile.cl", "", "conv_tile");
  CHECK(4 * ParameterBytes(conv) <= kMostParameterBytes);
  CHECK(5 * ParameterBytes(conv) > kMostParameterBytes);
}

}  // namespace tenon::opencl
