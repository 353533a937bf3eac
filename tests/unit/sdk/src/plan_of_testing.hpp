// PlanOf, which converts in this program, or asks another to where this one has firmware's runtime.
#pragma once

#include "runtime/base/config.hpp"
#ifdef TENON_FIRMWARE
#include "tests/unit/sdk/src/firmware/firmware_testing.hpp"
#else
#include "tests/unit/sdk/src/sdk_testing.hpp"
#endif
