#include "runtime/ops/host/op_table.hpp"

#include <cstring>

#include "runtime/ops/host/host_rows.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon {
namespace {

/// A number that is missing in the list would shift what stands behind it.
constexpr int kNumbers[] = {
#define TENON_OP(Kind, name, number) number,
#include "runtime/ops/ops.inc"
};
constexpr bool NumbersArePlaces() {
  for (int i = 0; i < kOpKindCount; ++i) {
    if (kNumbers[i] != i) return false;
  }
  return true;
}
static_assert(NumbersArePlaces());

constexpr const OpRow* kRows[] = {
#define TENON_OP(Kind, name, number) &k##Kind##Row,
#include "runtime/ops/ops.inc"
};

constexpr const OpHostRow* kHostRows[] = {
#define TENON_OP(Kind, name, number) &k##Kind##HostRow,
#include "runtime/ops/ops.inc"
};

}  // namespace

const OpRow& GetOpRow(OpKind kind) { return *kRows[static_cast<size_t>(kind)]; }

const OpHostRow& GetOpHostRow(OpKind kind) { return *kHostRows[static_cast<size_t>(kind)]; }

const OpRow* FindOpRow(const char* name) {
  if (name == nullptr) return nullptr;
  for (const OpRow* row : kRows) {
    if (std::strcmp(row->name, name) == 0) return row;
  }
  return nullptr;
}

}  // namespace tenon
