// Models that have every op between them, as plans are made hostile from.
#pragma once

namespace tenon::test {

inline constexpr const char* kConvNet = R"(
graph conv
input %x: f32[1,3,14,14]
const %w1: f32[16,3,3,3] = random(1)
const %b1: f32[16] = random(2)
%c1 = conv(%x, %w1, %b1) {pads=[1,1,1,1], activation=relu}
const %w2: f32[16,1,3,3] = random(3)
%d1 = conv(%c1, %w2) {group=16, pads=[1,1,1,1], activation=hard_swish}
const %w3: f32[16,16,1,1] = random(4)
%e1 = conv(%d1, %w3, _, %c1)
const %w4: f32[16,16,3,3] = random(5)
%f1 = conv(%e1, %w4, %b1, %e1) {pads=[1,1,1,1], activation=relu}
%p1 = max_pool(%f1) {kernel=[2,2], strides=[2,2]}
%g1 = conv(%p1, %w4) {strides=[2,2], pads=[1,1,1,1]}
%a1 = average_pool(%g1) {kernel=[3,3], strides=[1,1], pads=[1,1,1,1], count_include_pad=1}
%l1 = lrn(%a1) {size=5}
%s1 = softmax(%l1) {axis=1}
output %s1
)";

inline constexpr const char* kMatMulNet = R"(
graph matmul
input %x: f32[4,24]
const %w1: f32[24,32] = random(1)
const %b1: f32[32] = random(2)
%h1 = matmul(%x, %w1, %b1) {activation=relu}
const %w2: f32[16,32] = random(3)
%h2 = matmul(%h1, %w2) {transpose_b=1, activation=sigmoid}
%h3 = matmul(%h2, %h2) {transpose_b=1}
%h4 = matmul(%h3, %h3)
%r = reduce(%h4) {function=max, axes_mask=2, keep_dims=1}
%d = binary(%h4, %r) {function=sub}
%e = unary(%d) {function=exp}
%q = cum_sum(%e) {axis=1, reverse=1}
%s = softmax(%q) {axis=1}
const %n: f32[4] = random(9)
%l = layer_norm(%s, %n, %n)
%t = attention(%l, %s, %e, %n) {scale=0.5}
const %w3: i8[4,4] = random(10)
const %s3: f32[1] = [0.05]
%v = dynamic_matmul(%t, %w3, %n, %s3)
%u = elementwise(%v, %n, %l) {operands=[1,-2,0], functions=[mul,sub,add], activations=[relu,identity,tanh]}
output %u
output %h2
)";

inline constexpr const char* kMovingNet = R"(
graph moving
input %x: f32[1,4,6,6]
input %y: f32[1,4,6,6]
%a = unary(%x) {function=relu}
%b = unary(%y) {function=tanh}
%c = concat(%a, %b) {axis=1}
%d = slice(%c) {begins=[0,1,0,0], sizes=[1,6,5,3], steps=[1,1,1,2]}
%e = transpose(%d) {permutation=[0,2,3,1]}
%f = reshape(%e) {dims=[15,6]}
%g = pad(%f) {begins=[1,0], ends=[0,2], value=0.5}
%h = unary(%g) {function=sigmoid}
%i = binary(%h, %h) {function=add}
%j = resize(%c) {mode=linear, sizes=[1,8,12,12], scales=[1,1,2,2]}
%k = reduce(%j) {function=mean, axes_mask=12, keep_dims=1}
%n = transpose(%c) {permutation=[0,2,3,1]}
%o = slice(%n) {begins=[0,0,0,3], sizes=[1,6,6,2], steps=[1,1,1,1]}
%p = grid_sample(%a, %o) {padding=reflection}
%q = grid_sample(%p, %o) {mode=cubic, align_corners=1}
%l = expand(%k) {dims=[1,8,2,2]}
%m = unary(%l) {function=exp}
output %i
output %m
output %q
)";

// One line for each op: the text form has no others.
inline constexpr const char* kQuantizedNet =
    R"(
graph quantized
input %x: f32[1,3,14,14]
const %s: f32[1] = [0.02]
const %z: i8[1] = [3]
%q = quantize(%x, %s, %z) {to=i8}
const %w1: i8[16,3,3,3] = random(1)
const %b1: i32[16] = random(2)
const %m1: i32[1] = [1200000000]
const %h1: i8[1] = [-6]
%c1 = quantized_conv(%q, %w1, %b1, %m1, %h1, %z) )"
    R"({pads=[1,1,1,1], rounding=fixed_point, zero_point=-4}
const %w2: i8[16,1,3,3] = random(3)
const %m2: f32[1] = [0.02]
const %z2: i8[1] = [-4]
%d1 = quantized_conv(%c1, %w2, %b1, %m2, _, %z2) {group=16, pads=[1,1,1,1], min=0}
const %w3: i8[16,16,1,1] = random(4)
const %m3: i32[16] = random(9)
const %h3: i8[16] = random(10)
%e1 = quantized_conv(%d1, %w3, _, %m3, %h3) {rounding=fixed_point}
%a1 = quantized_binary(%e1, %c1) {rounding=fixed_point, y_zero_point=-4, left_shift=20, )"
    R"(x_multiplier=1073741824, y_multiplier=1500000000, )"
    R"(output_multiplier=1200000000, output_shift=-18}
const %t: i8[256] = random(5)
%l1 = lookup(%a1, %t)
%p1 = max_pool(%l1) {kernel=[2,2], strides=[2,2]}
%v1 = quantized_average_pool(%p1) {kernel=[3,3], pads=[1,1,1,1], rounding=half_away}
%r1 = quantized_reduce(%v1) {axes_mask=12, keep_dims=0, rounding=fixed_point, )"
    R"(multiplier=1400000000, shift=-5}
const %g1: f32[16] = random(11)
%n1 = layer_norm(%r1, %g1, %g1) {epsilon=1.5}
const %w4: i8[10,16] = random(6)
const %b4: i32[10] = random(7)
const %m4: f32[10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
const %z4: i8[10] = random(8)
%y1 = quantized_matmul(%n1, %w4, %b4, %m4, _, %z, %z4) {transpose_b=1}
%k1 = quantized_binary(%y1, %y1) {function=mul, x_scale=0.1, y_scale=0.1, output_scale=0.2}
%o1 = quantized_softmax(%k1) {axis=1, rounding=fixed_point, multiplier=1374389504, shift=23, )"
    R"(least_difference=-248, zero_point=-128}
const %n: f32[1] = [0.00390625]
const %zn: i8[1] = [-128]
%f1 = dequantize(%o1, %n, %zn)
output %f1
)";

/// Convolutions of equal size, which can work over their input.
inline constexpr const char* kInPlaceNet =
    R"(
graph in_place
input %x: i8[1,3,14,12]
const %z: i8[1] = [3]
const %w0: i8[16,3,3,3] = random(1)
const %b1: i32[16] = random(2)
const %m1: i32[1] = [1200000000]
const %h1: i8[1] = [-6]
%c1 = quantized_conv(%x, %w0, %b1, %m1, %h1, %z) )"
    R"({pads=[1,1,1,1], rounding=fixed_point, zero_point=3}
const %w1: i8[16,1,3,3] = random(3)
%d1 = quantized_conv(%c1, %w1, %b1, %m1, %h1, %z) )"
    R"({group=16, pads=[1,1,1,1], rounding=fixed_point, zero_point=-4}
const %w2: i8[16,16,1,1] = random(4)
const %m2: f32[1] = [0.02]
const %z2: i8[1] = [-4]
%e1 = quantized_conv(%d1, %w2, %b1, %m2, _, %z2) {min=0}
const %w3: i8[16,16,3,3] = random(5)
const %m3: i32[16] = random(9)
const %h3: i8[16] = random(10)
%f1 = quantized_conv(%e1, %w3, _, %m3, %h3) {pads=[1,1,1,1], rounding=fixed_point}
const %w4: i8[16,1,3,2] = random(6)
%g1 = quantized_conv(%f1, %w4, _, %m2) {group=16, pads=[2,1,0,0]}
%a1 = quantized_average_pool(%g1) {kernel=[14,12], rounding=half_away}
output %a1
)";

/// A streaming convolution: the window is kept from run to run, beside a sum of all runs.
inline constexpr const char* kStateNet = R"(
graph stream
input %x: f32[1,4,2,1]
input %s: f32[1,4,3,1]
input %a: f32[1,4,1,1]
input %r: f32[3,4]
%j = concat(%s, %x) {axis=2}
%t = slice(%j) {begins=[0,0,2,0], sizes=[1,4,3,1], steps=[1,1,1,1]}
const %w: f32[4,4,5,1] = random(1)
%c = conv(%j, %w)
%n = binary(%c, %a)
%y = unary(%n) {function=tanh}
%f = reshape(%y) {dims=[1,4]}
%p = unary(%f) {function=relu}
%m = concat(%r, %p) {axis=0}
%q = slice(%m) {begins=[1,0], sizes=[3,4], steps=[1,1]}
%z = reduce(%m) {function=sum, axes_mask=1}
output %y
output %z
output %t as "window"
output %n as "sum"
output %q
state "s" = "window" from random(2)
state "a" = "sum"
state "r" = "q" from random(3)
)";

inline constexpr const char* kGatherNet = R"(
graph gather
input %x: f32[6,8]
const %n: i32[3] = [0, 5, -2]
%g = gather(%x, %n) {axis=0}
%c = cast(%g) {to=i32}
%i = binary(%c, %c) {function=mul}
%q = binary(%g, %g) {function=less_or_equal}
%s = select(%q, %g, %g)
%t = unary(%s) {function=neg}
%f = cast(%i) {to=f32}
%o = binary(%t, %f) {function=mul}
%k = top_k(%o) {axis=1, count=8}
%u = cast(%k) {to=f32}
const %r: i64[3] = [2, 0, 2]
%w = scatter(%x, %r, %u) {function=add}
%b = reshape(%w) {rank=3, dims=[1,12,4]}
%p = slice(%w) {begins=[0,0], sizes=[3,4], steps=[1,1]}
%v = reshape(%p) {rank=3, dims=[1,1,12]}
%l = top_k(%v) {axis=2, count=12}
%n2 = non_max_suppression(%b, %v, %l) {rows=8, most_of_class=5, overlap=0.2}
output %o
output %n2
)";

}  // namespace tenon::test
