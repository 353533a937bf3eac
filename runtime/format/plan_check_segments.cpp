// Plan check, part 5: shows that no segments wait for each other in a cycle.
#include "runtime/format/plan_check_workers.hpp"
#include "runtime/format/region.hpp"

namespace tenon::plan_check {
namespace {

enum Colour : uint32_t { kWhite, kGrey, kBlack };

/// Where the search stands in one segment: kCursorWords words of scratch.
struct Cursor {
  uint32_t colour;
  uint32_t parent;
  uint32_t op;      ///< place in the segment's list
  uint32_t input;   ///< place in the op's list
  uint32_t writer;  ///< place in the list of the input's storage
};
static_assert(sizeof(Cursor) == kCursorWords * sizeof(uint32_t), "Cursor is kCursorWords words");

/// The next segment that writes what `segment` reads, or kNoSegment.
uint32_t NextSource(ProgramCheck& check, uint32_t segment, Cursor& at) {
  const ProgramView& program = check.program;
  const Span<const uint32_t> ops = program.segment(segment).ops;
  for (; at.op < ops.size(); ++at.op, at.input = 0) {
    const Span<const int32_t> inputs = program.op(ops[at.op]).inputs;
    for (; at.input < inputs.size(); ++at.input, at.writer = 0) {
      if (inputs[at.input] < 0) continue;
      const auto tensor = static_cast<uint32_t>(inputs[at.input]);
      if (MakeRegion(program.tensor(tensor)).bytes == 0) continue;  // nothing to wait for
      const uint32_t storage = program.tensor(tensor).storage;
      const uint32_t begin = check.access_begin[storage];  // nothing is listed for constants
      const uint32_t count = check.reader_begin[storage] - begin;
      while (at.writer < count) {
        const Access writer = check.accesses[begin + at.writer++];
        if (OpOf(writer) == kPortOp || check.segment[OpOf(writer)] == segment) continue;
        if (count > 1 && (!check.Spend() || !SharesBytes(check, TensorOf(writer), tensor))) {
          continue;
        }
        return check.segment[OpOf(writer)];
      }
    }
  }
  return kNoSegment;
}

/// Depth-first against the flow of data, without recursion.
void CheckAcyclic(ProgramCheck& check) {
  auto* cursors = reinterpret_cast<Cursor*>(check.cursor);
  for (size_t i = 0; i < check.segments; ++i) cursors[i] = Cursor{};
  for (uint32_t root = 0; root < check.segments; ++root) {
    if (cursors[root].colour != kWhite) continue;
    cursors[root].colour = kGrey;
    cursors[root].parent = kNoSegment;
    for (uint32_t top = root; top != kNoSegment && !check.reporter.stopped();) {
      const uint32_t source = NextSource(check, top, cursors[top]);
      if (source == kNoSegment) {
        cursors[top].colour = kBlack;
        top = cursors[top].parent;
      } else if (cursors[source].colour == kWhite) {
        cursors[source].colour = kGrey;
        cursors[source].parent = top;
        top = source;
      } else if (cursors[source].colour == kGrey) {
        check.Fail(check.program.name(), "segments {0} and {1} wait for each other", source, top);
      }
    }
  }
}

}  // namespace

bool SharesBytes(const ProgramCheck& check, uint32_t a, uint32_t b) {
  return OverlapBytes(MakeRegion(check.program.tensor(a)), MakeRegion(check.program.tensor(b))) !=
         0;
}

void CheckSegments(ProgramCheck& check) { CheckAcyclic(check); }

}  // namespace tenon::plan_check
