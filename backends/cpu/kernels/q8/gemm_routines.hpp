// The inner loops of quantized convolutions and matrix products, as one table of functions per
// instruction set.
//
// This header must contain no inline function with external linkage: the files of simd/ are
// compiled for instruction sets that the processor may lack, and the linker could keep their copy
// for everybody.
#pragma once

#include <cstdint>

#include "backends/cpu/caps/tiles.hpp"
#include "backends/cpu/kernels/q8/choose_instructions.hpp"

namespace tenon::cpu::q8 {

/// Says how a sum becomes an output.
enum class EpilogueKind : uint8_t {
  kSums,        ///< y is i32: the sum itself
  kFloats,      ///< y is f32
  kHalfEven,    ///< i8 or u8, all factors finite
  kFixedPoint,  ///< i8 or u8, no multiplier INT32_MIN (whose square is no 32 bits)
  kExact,       ///< i8 or u8, whatever the constants hold, element by element
};

/// Contains what all groups of one op share.
struct GemmEpilogue {
  EpilogueKind kind;
  bool fixed_point;  ///< says what kExact computes; else half even
  bool once;         ///< fixed point has one rounding; the first one's `offset` is 0 then
  /// The zero point is that of the output as i8: a u8 output is computed as i8, 128 less, and
  /// `flip` turns it back.
  int32_t zero_point;
  int32_t min;
  int32_t max;
  uint32_t flip;  ///< 0 or 0x80808080
};

/// Contains the packed constants of a group of output channels. Arrays have `width` entries, one
/// per place: place p is for the channel `routines.channel_at(p, width)` of the group, and is empty
/// from `channels` on.
struct GemmGroup {
  int32_t first;     ///< of the op's output channels
  int32_t channels;  ///< 1 to width
  int32_t width;     ///< a multiple of kWidthStep, at most kMostWidth
  int32_t source;    ///< bytes from a pixel to the first input channel
  /// Is true if no product leaves +-2^22, no sum overflows, and no fixed-point multiplier is
  /// negative. It is false if, for instance, a channel has nearly no weights and a bias that is
  /// huge in units of their scale.
  bool is_tame;
  /// The weights come in steps of kDepthStep rows of `width` weights, in the order of the routines.
  const int8_t* weights;
  const int32_t* bias;  ///< includes what the zero points add to every sum
  /// Null, or what a sum takes of its pixel's `x_sums`: where weights less their zero point are no
  /// i8, `weights` are the bytes as i8, and this is the rest, which is the same for all of them.
  const int32_t* x_sum_factor;
  /// For kHalfEven and kFloats it is the multiplier, for kFixedPoint the multiplier as a slightly
  /// larger float.
  const float* factor;
  const float* factor_below;  ///< kFixedPoint: a slightly smaller float
  const float* offset;        ///< kFixedPoint: how far the first of the two roundings reaches
  const int32_t* multiplier;  ///< as given, also a float's bits
  const int32_t* shift;
};

/// Computes `pixels` evenly spaced outputs of one group: y[i][m] = epilogue(bias[m] + x_sums[i] *
/// x_sum_factor[m] + sum over taps t and k < depth of (x ^ flip)[i * x_step + source + taps[t] + k]
/// * weights[t][k][m]), where bytes of x are unsigned. A tap of `depth` bytes is read in steps of
/// four; if depth is no multiple of four, the last step begins at depth - 4, or at 0 where that is
/// negative.
struct GemmCall {
  const uint8_t* x;
  /// Of `run_wide`, which reads it instead, from the group's source on: `x_step` and the taps count
  /// its numbers.
  const int16_t* wide_x;
  /// Of `run_wide` and groups with an x_sum_factor: for each pixel the sum of what it multiplies.
  const int32_t* x_sums;
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

/// Transforms the input of one tile of Winograd's F(4x4, 3x3): B (x - zero points) B transposed, of
/// each channel.
struct WinogradInputCall {
  const uint8_t* const* pixels;  ///< [6][6], each of `channels`
  const uint8_t* zero_points;
  uint8_t flip;      ///< makes the bytes u8
  int32_t channels;  ///< at least 8
  int16_t* to;       ///< [36], `step` numbers apart, `channels` and a 0 if these are odd
  int64_t step;
};

/// Computes sums[t][m] = sum over k of x[t][k] * weights[k][m], of 16 channels; sums wrap. The
/// weights' order is [pairs of k][16][2].
struct WinogradProductCall {
  const int16_t* x;
  int64_t x_step;
  const int16_t* weights;
  int32_t pairs;
  int32_t tiles;
  int32_t* sums;
};

/// Transforms products of 16 channels of `tiles` tiles to sums, exactly where these are less than
/// 2^25, and adds them to `sums`, [tiles][4][4][16].
struct WinogradOutputCall {
  const int32_t* products;  ///< [36][tiles][16]
  int32_t tiles;
  bool is_first;  ///< `sums` is the result alone
  int32_t* sums;
};

/// Stores the outputs of one tile from its sums.
struct WinogradStoreCall {
  const int32_t* sums;  ///< [4][4][16], without the bias
  const GemmGroup* group;
  const GemmEpilogue* epilogue;  ///< of bytes
  int32_t place;                 ///< of the first channel in the group
  uint8_t* y;
  int64_t row_step;
  int64_t pixel_step;
  int32_t rows;
  int32_t columns;
};

struct WinogradRoutines {
  void (*input)(const WinogradInputCall& call);
  void (*product)(const WinogradProductCall& call);
  void (*output)(const WinogradOutputCall& call);
  void (*store)(const WinogradStoreCall& call);
};

constexpr int kNeighbours = 4;

struct GemmRoutines {
  const char* name;
  void (*run)(const GemmCall& call);
  /// Returns where the weight of place `p` and byte `k` of a step is among the step's kDepthStep *
  /// width.
  int (*weight_place)(int p, int k, int width);
  /// Returns the channel of a place. Of every kNeighbours places from a multiple of as many on, the
  /// channels are neighbours too.
  int (*channel_at)(int p, int width);
  /// Is true if x is multiplied as i8, not as u8: each byte is 128 less than the call says, and
  /// `bias` corrects for it.
  bool signed_x;
  /// Null, or as `run` but of numbers that `widen` made of the bytes and their flip: then all
  /// groups of channels, and all taps, share the work of it.
  void (*run_wide)(const GemmCall& call);
  void (*widen)(const uint8_t* x, int64_t count, uint32_t flip, int16_t* to);
  /// Where there is a `run_wide`: the sum of `count` numbers.
  int32_t (*sum_wide)(const int16_t* x, int64_t count);
  /// Null where direct products are faster.
  const WinogradRoutines* winograd;
};

[[nodiscard]] const GemmRoutines& GemmRoutinesOf(Instructions instructions);

extern const GemmRoutines kGenericGemmRoutines;
#if defined(__x86_64__)
extern const GemmRoutines kAvx2GemmRoutines;
extern const WinogradRoutines kAvx2WinogradRoutines;
extern const GemmRoutines kAvx512VnniGemmRoutines;
#elif defined(__aarch64__)
extern const GemmRoutines kNeonGemmRoutines;
extern const GemmRoutines kNeonDotGemmRoutines;
extern const GemmRoutines kNeonI8mmGemmRoutines;
#endif

/// Returns the output, as i8, of one sum at place `p`, for any kind but kSums and kFloats. It
/// serves the few sums whose rounding the fast form cannot tell.
[[nodiscard]] int32_t ExactOutput(const GemmGroup& group, const GemmEpilogue& epilogue, int p,
                                  int32_t sum);

/// Stores the outputs of one pixel, of any kind, from its sums, which are ordered by place.
void StoreFromSums(const GemmRoutines& routines, const GemmGroup& group,
                   const GemmEpilogue& epilogue, const int32_t* sums, uint8_t* y);

}  // namespace tenon::cpu::q8
