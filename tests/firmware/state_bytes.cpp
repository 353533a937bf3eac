// What generated headers say of a plan's states (converter/emit/firmware_memory.cpp) holds for this
// target. Compiled, never run.
#include "runtime/engine/one_worker_session.hpp"
#include "runtime/format/plan_check_state.hpp"
#include "sdk/src/handles.hpp"

namespace tenon::sdk {

static_assert(sizeof(void*) == 4);
// Both states are rounded up to 16, and each begins with its handle.
static_assert(kHandleBytes<tenon_plan> + kHandleBytes<tenon_session> + 2 * 15 <= 160);
static_assert(OneWorkerPlan::kStateBytesPerOp <= 1 && OneWorkerPlan::kStateBytesPerSection <= 4);
static_assert(OneWorkerSession::kStateBytesPerArena <= 4 &&
              OneWorkerSession::kStateBytesPerPort <= 8 && kOperandRoomBytes <= 20);
static_assert(sizeof(plan_check::Access) <= 4 && sizeof(plan_check::Number) <= 2);

}  // namespace tenon::sdk
