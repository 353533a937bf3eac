#include "runtime/ops/functions.hpp"

namespace tenon {

const char* const kUnaryFunctionNames[kUnaryFunctionCount] = {
#define TENON_UNARY_FUNCTION(Kind, name, number, dtypes, elementary_ops, weight) #name,
#include "runtime/ops/functions.inc"
};

const char* const kBinaryFunctionNames[kBinaryFunctionCount] = {
#define TENON_BINARY_FUNCTION(Kind, name, number) #name,
#include "runtime/ops/functions.inc"
};

const char* const kReduceFunctionNames[kReduceFunctionCount] = {
    "sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum", "log_sum_exp"};

const char* const kScatterFunctionNames[kScatterFunctionCount] = {"replace", "add", "mul", "max",
                                                                  "min"};

const char* const kPadModeNames[kPadModeCount] = {"constant", "edge", "reflect"};

const char* const kResizeModeNames[kResizeModeCount] = {"nearest", "linear", "cubic"};

const char* const kGridPaddingNames[kGridPaddingCount] = {"zeros", "border", "reflection"};

const char* const kCoordinateModeNames[kCoordinateModeCount] = {"half_pixel", "pytorch_half_pixel",
                                                                "align_corners", "asymmetric"};

const char* const kNearestModeNames[kNearestModeCount] = {"round_prefer_floor", "round_prefer_ceil",
                                                          "floor", "ceil"};

const char* const kRoundingNames[kRoundingCount] = {"half_even", "fixed_point", "half_away",
                                                    "fixed_point_once"};

}  // namespace tenon
