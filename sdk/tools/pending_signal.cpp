#include "sdk/tools/pending_signal.hpp"

#include <iterator>

namespace tenon::tool {
namespace {

volatile sig_atomic_t noted = 0;

void Note(int signal_number) { noted = signal_number; }

}  // namespace

PendingSignal::PendingSignal() {
  noted = 0;
  struct sigaction action {};
  action.sa_handler = Note;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &previous_[i]);
    if (previous_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

PendingSignal::~PendingSignal() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &previous_[i], nullptr);
  if (noted != 0) raise(noted);
}

bool PendingSignal::IsNoted() { return noted != 0; }

}  // namespace tenon::tool
