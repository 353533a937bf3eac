// The inner loops of quantized convolutions and matrix products: a table of functions per
// instruction set.
//
// Nothing inline with external linkage may stand here: the files of simd/ are compiled for
// instruction sets that the processor may lack, and the linker could keep their copy for everybody.
#pragma once

#include <cstdint>

#include "backends/cpu/caps/tiles.hpp"
#include "backends/cpu/kernels/q8/choose_instructions.hpp"

namespace tenon::cpu::q8 {

/// How a sum becomes an output.
enum class EpilogueKind : uint8_t {
  kSums,        ///< y is i32: the sum itself
  kFloats,      ///< y is f32
  kHalfEven,    ///< i8 or u8, all factors finite
  kFixedPoint,  ///< i8 or u8, no multiplier INT32_MIN (whose square is no 32 bits)
  kExact,       ///< i8 or u8, whatever the constants hold, element by element
};

/// What all groups of one op share.
struct GemmEpilogue {
  EpilogueKind kind;
  bool fixed_point;  ///< what kExact computes, else half even
  bool once;         ///< fixed point rounded once; the first rounding's `offset` is 0 then
  /// Of the output as i8: a u8 output is computed as one, 128 less, and `flip` turns it back.
  int32_t zero_point;
  int32_t min;
  int32_t max;
  uint32_t flip;  ///< 0 or 0x80808080
};

/// Packed constants of a group of output channels. Arrays have `width` entries, by place: place p
/// holds the channel `routines.channel_at(p, width)` of the group, or nothing from `channels` on.
struct GemmGroup {
  int32_t first;     ///< of the op's output channels
  int32_t channels;  ///< 1 to width
  int32_t width;     ///< a multiple of kWidthStep, at most kMostWidth
  int32_t source;    ///< bytes from a pixel to the first input channel
  /// No product leaves +-2^22, no sum overflows, and no fixed-point multiplier is negative. A
  /// channel of hardly any weights can have a bias so large in units of their scale that it is not.
  bool is_tame;
  /// Steps of kDepthStep rows of `width` weights, in the order of the routines.
  const int8_t* weights;
  const int32_t* bias;  ///< with what the zero points add to every sum
  /// kHalfEven, kFloats: the multiplier. kFixedPoint: it as a float, a little more.
  const float* factor;
  const float* factor_below;  ///< kFixedPoint: a little less
  const float* offset;        ///< kFixedPoint: how far the first of the two roundings reaches
  const int32_t* multiplier;  ///< as given, also a float's bits
  const int32_t* shift;
};

/// `pixels` outputs at even distances of one group: y[i][m] = epilogue(bias[m] + sum over taps t
/// and k < depth of (x ^ flip)[i * x_step + source + taps[t] + k] * weights[t][k][m]), bytes of x
/// being unsigned. A tap of `depth` bytes is read in steps of four; the last step of a depth that
/// is no multiple of four begins at depth - 4, or at 0 where that is negative.
struct GemmCall {
  const uint8_t* x;
  uint8_t* y;      ///< of the group's first channel
  int64_t x_step;  ///< bytes
  int64_t y_step;  ///< bytes
  const int64_t* taps;
  int32_t tap_count;
  int32_t depth;
  int32_t pixels;
  uint32_t flip;  ///< 0x80808080 where x is i8: that makes it u8, 128 more
  const GemmGroup* group;
  const GemmEpilogue* epilogue;
};

struct GemmRoutines {
  const char* name;
  void (*run)(const GemmCall& call);
  /// Where the weight of place `p` and byte `k` of a step stands among its kDepthStep * width.
  int (*weight_place)(int p, int k, int width);
  int (*channel_at)(int p, int width);
  /// x is multiplied as i8, not as u8: 128 less than what the call says, which `bias` makes up for.
  bool signed_x;
};

[[nodiscard]] const GemmRoutines& GemmRoutinesOf(Instructions instructions);

extern const GemmRoutines kGenericGemmRoutines;
#if defined(__x86_64__)
extern const GemmRoutines kAvx2GemmRoutines;
extern const GemmRoutines kAvx512VnniGemmRoutines;
#elif defined(__aarch64__)
extern const GemmRoutines kNeonGemmRoutines;
extern const GemmRoutines kNeonDotGemmRoutines;
#endif

/// The output, as i8, of one sum at place `p`; any kind but kSums and kFloats. For the few sums
/// whose rounding the fast form cannot tell.
[[nodiscard]] int32_t ExactOutput(const GemmGroup& group, const GemmEpilogue& epilogue, int p,
                                  int32_t sum);

/// Outputs of one pixel from its sums by place, of any kind.
void StoreFromSums(const GemmRoutines& routines, const GemmGroup& group,
                   const GemmEpilogue& epilogue, const int32_t* sums, uint8_t* y);

}  // namespace tenon::cpu::q8
