#include "runtime/engine/host/idle_help.hpp"

#include "runtime/engine/host/thread.hpp"

namespace tenon {
namespace {

/// Pieces per worker: a worker that comes late, or loses its processor, delays one piece.
constexpr int kPieces = 4;

}  // namespace

ParallelRunner IdleHelp::Runner(size_t workers, void (*wake)(void*), void* context) {
  workers_ = static_cast<int>(workers);
  wake_ = wake;
  wake_context_ = context;
  return {workers_, this, Run};
}

void IdleHelp::Run(const ParallelRunner& runner, int count, void (*body)(void*, int, int),
                   void* context) {
  auto& help = *static_cast<IdleHelp*>(runner.team);
  if (help.is_taken_.exchange(true)) {
    body(context, 0, count);
    return;
  }
  // Nobody reads these: the op before is closed and its helpers have left.
  help.body_ = body;
  help.context_ = context;
  const int piece = count / (kPieces * help.workers_);
  help.piece_ = piece > 1 ? piece : 1;
  help.next_ = 0;
  help.count_ = count;
  help.is_open_ = true;
  help.wake_(help.wake_context_);
  help.TakePieces();
  help.is_open_ = false;
  // Whoever counted itself before it saw that the op is closed may be at work on a piece.
  while (help.helpers_ > 0) SpinPause();
  help.is_taken_ = false;
}

void IdleHelp::Help() {
  ++helpers_;
  if (is_open_) TakePieces();  // looked at after counting: the op cannot end in between
  --helpers_;
}

void IdleHelp::TakePieces() {
  const int count = count_;
  for (int begin = next_.fetch_add(piece_); begin < count; begin = next_.fetch_add(piece_)) {
    body_(context_, begin, begin + piece_ < count ? begin + piece_ : count);
  }
}

}  // namespace tenon
