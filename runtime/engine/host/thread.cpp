#include "runtime/engine/host/thread.hpp"

namespace tenon {

Status Thread::Start(void (*body)(void* context), void* context) {
  body_ = body;
  context_ = context;
  started_ = pthread_create(&handle_, nullptr, Main, this) == 0;
  TENON_ENSURE(started_, kOutOfMemory, "the system gives no more threads: ask for fewer");
  return OkStatus();
}

void Thread::Join() {
  if (started_) pthread_join(handle_, nullptr);
  started_ = false;
}

void* Thread::Main(void* thread) {
  auto* self = static_cast<Thread*>(thread);
  self->body_(self->context_);
  return nullptr;
}

}  // namespace tenon
