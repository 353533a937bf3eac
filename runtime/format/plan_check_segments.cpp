// Plan check, part 5: segments wait for each other in no circle; channels carry what is handed
// over.
#include "runtime/format/plan_check_state.hpp"
#include "runtime/format/region.hpp"

namespace tenon::plan_check {
namespace {

constexpr uint32_t kNoSegment = UINT32_MAX;

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

bool SharesBytes(const ProgramCheck& check, uint32_t a, uint32_t b) {
  return OverlapBytes(MakeRegion(check.program.tensor(a)), MakeRegion(check.program.tensor(b))) !=
         0;
}

/// The next segment that writes what `segment` reads, or kNoSegment.
uint32_t NextSource(ProgramCheck& check, uint32_t segment, Cursor& at) {
  const ProgramView& program = check.program;
  const Span<const uint32_t> ops = program.segment(segment).ops;
  for (; at.op < ops.size(); ++at.op, at.input = 0) {
    const Span<const int32_t> inputs = program.op(ops[at.op]).inputs;
    for (; at.input < inputs.size(); ++at.input, at.writer = 0) {
      if (inputs[at.input] < 0) continue;
      const auto tensor = static_cast<uint32_t>(inputs[at.input]);
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

/// How one end of a channel uses a tensor: not at all, some of its bytes, or as it is.
enum class Use : uint8_t { kNone, kPart, kWhole };

Use FindUse(ProgramCheck& check, uint32_t begin, uint32_t end, uint32_t segment, uint32_t tensor) {
  Use use = Use::kNone;
  for (uint32_t i = begin; i < end && use != Use::kWhole && check.Spend(); ++i) {
    const Access access = check.accesses[i];
    if (OpOf(access) == kPortOp || check.segment[OpOf(access)] != segment) continue;
    if (TensorOf(access) == tensor) {
      use = Use::kWhole;
    } else if (SharesBytes(check, TensorOf(access), tensor)) {
      use = Use::kPart;
    }
  }
  return use;
}

/// A channel's tensor is what one end writes or what the other reads, and the opposite end must
/// have a share in it. So every channel follows a flow of data, and channels can form a circle only
/// where segments do.
void CheckChannels(ProgramCheck& check) {
  const ProgramView& program = check.program;
  for (size_t i = 0; i < program.channel_count(); ++i) {
    const ChannelInfo channel = program.channel(i);
    for (const uint32_t tensor : channel.tensors) {
      const uint32_t s = program.tensor(tensor).storage;
      const uint32_t readers = check.reader_begin[s];
      const Use written = FindUse(check, check.access_begin[s], readers, channel.from, tensor);
      const Use read = FindUse(check, readers, check.access_begin[s + 1], channel.to, tensor);
      const bool whole = written == Use::kWhole || read == Use::kWhole;
      if (written == Use::kNone || read == Use::kNone || !whole) {
        check.Fail(program.tensor(tensor).name,
                   "channel {0}: tensor {1} is not handed over between its segments", i, tensor);
      }
    }
  }
}

}  // namespace

void CheckSegments(ProgramCheck& check) {
  CheckAcyclic(check);
  if (!check.reporter.stopped()) CheckChannels(check);
}

}  // namespace tenon::plan_check
