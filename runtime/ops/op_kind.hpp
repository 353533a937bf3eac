// The kinds of ops and what they are called, of the one list (ops.inc).
#pragma once

#include <cstdint>

namespace tenon {

enum class OpKind : uint16_t {
#define TENON_OP(Kind, name, number) k##Kind = number,
#include "runtime/ops/ops.inc"
};

inline constexpr int kOpKindCount = 0
#define TENON_OP(Kind, name, number) +1
#include "runtime/ops/ops.inc"
    ;

/// What text form, JSON and board files call `kind`: "conv".
[[nodiscard]] constexpr const char* OpName(OpKind kind) {
  switch (kind) {
#define TENON_OP(Kind, name, number) \
  case OpKind::k##Kind:              \
    return #name;
#include "runtime/ops/ops.inc"
  }
  return "";
}

}  // namespace tenon
