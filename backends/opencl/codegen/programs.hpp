// Which program an op's kernel is made from: the file, its options and the function. Kernels of one
// function, and groups that merge several (group_source.hpp), take it from here.
#pragma once

#include <string>

#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

struct ProgramChoice {
  const char* file = "";      ///< "pool.cl"
  std::string options;        ///< "-DTAPS=9", beside those that all programs have (see prelude.cl)
  const char* function = "";  ///< of that program
};

/// Contains one of the kernels' sources, which are embedded at build time.
struct KernelSource {
  const char* file;  ///< "pool.cl"
  const char* text;
};
/// Returns the text of a source; null if there is none of that name.
[[nodiscard]] const char* FindKernelSource(const char* file);

/// Returns "-DWORD=uint", for example: the unsigned type of the size of a view's elements.
[[nodiscard]] std::string WordOption(const TensorView& view);

[[nodiscard]] ProgramChoice BinaryProgram(const OpCall& op);
[[nodiscard]] ProgramChoice UnaryProgram(const OpCall& op);
[[nodiscard]] ProgramChoice MaxPoolProgram(const OpCall& op);
[[nodiscard]] ProgramChoice AveragePoolProgram(const OpCall& op);
/// Serves copy, concat, slice, transpose and expand.
[[nodiscard]] ProgramChoice MoveProgram(const OpCall& op);
[[nodiscard]] ProgramChoice GatherProgram(const OpCall& op);
[[nodiscard]] ProgramChoice NearestResizeProgram(const OpCall& op);
[[nodiscard]] ProgramChoice SoftmaxProgram(const OpCall& op);
[[nodiscard]] ProgramChoice LrnProgram(const OpCall& op);

}  // namespace tenon::opencl
