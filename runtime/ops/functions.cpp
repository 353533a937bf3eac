#include "runtime/ops/functions.hpp"

namespace tenon {

const char* const kUnaryFunctionNames[kUnaryFunctionCount] = {
    "identity",     "relu",       "clip", "leaky_relu", "sigmoid", "tanh",
    "hard_sigmoid", "hard_swish", "elu",  "selu",       "silu",    "gelu",
    "softplus",     "softsign",   "mish", "exp",        "log",     "sqrt",
    "reciprocal",   "erf",        "abs",  "neg",        "floor",   "ceil",
    "round",        "sign",       "sin",  "cos",        "not"};

const char* const kBinaryFunctionNames[kBinaryFunctionCount] = {
    "add",           "sub",     "mul",
    "div",           "pow",     "max",
    "min",           "prelu",   "mod",
    "fmod",          "equal",   "less",
    "less_or_equal", "greater", "greater_or_equal",
    "and",           "or",      "xor"};

const char* const kReduceFunctionNames[kReduceFunctionCount] = {
    "sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum", "log_sum_exp"};

const char* const kPadModeNames[kPadModeCount] = {"constant", "edge", "reflect"};

const char* const kResizeModeNames[kResizeModeCount] = {"nearest", "linear", "cubic"};

const char* const kCoordinateModeNames[kCoordinateModeCount] = {"half_pixel", "pytorch_half_pixel",
                                                                "align_corners", "asymmetric"};

const char* const kNearestModeNames[kNearestModeCount] = {"round_prefer_floor", "round_prefer_ceil",
                                                          "floor", "ceil"};

const char* const kRoundingNames[kRoundingCount] = {"half_even", "fixed_point", "half_away",
                                                    "fixed_point_once"};

}  // namespace tenon
