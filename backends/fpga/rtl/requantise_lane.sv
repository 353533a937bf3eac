// From a 32-bit sum to a byte, one per clock: sum + addend, times multiplier * 2^-(31 + shift),
// rounded as one of arithmetic_pkg's modes says, plus the zero point, within the bounds. The result
// has the bits of runtime/ops/requantize.hpp for every sum, 0 <= multiplier < 2^31 and shifts of 0
// to 31 (any shift where the product is rounded once: from 32 on nothing is left). There are no
// shifts to the left: factors of 1 and more are not for the lane.
//
// HALF_EVEN stands for a float32 factor of 2^-62 <= f < 1: with f = 1.x * 2^e, the multiplier is
// 1.x * 2^30 and the shift -1 - e. The lane rounds sum and product to 24 bits as floats are.
//
// All is done on magnitudes. What is common to lanes comes from requantise_lanes when it is needed:
// numbers in names of signals count the clocks since the sum.
module requantise_lane (
    input logic clk,
    input logic [31:0] sum,
    input logic [31:0] addend,      // the bias, or the other operand of a residual sum
    input logic [30:0] multiplier,  // MULTIPLIER_DELAY clocks after the sum
    input logic [5:0] shift,        // at the same time
    input logic round_sum_2,        // HALF_EVEN
    input logic fixed_point_5,
    input logic [2:0] mode_12,
    input logic signed [7:0] zero_point_13,
    input logic signed [7:0] least_14,
    input logic signed [7:0] most_14,
    output logic [7:0] result
);
  // The sum, its size and sign.
  logic [31:0] sum_1, size_2;
  logic [13:2] negative;
  always_ff @(posedge clk) begin
    sum_1 <= sum + addend;
    size_2 <= (sum_1 ^ {32{sum_1[31]}}) + {31'd0, sum_1[31]};
    negative <= {negative[12:2], sum_1[31]};
  end

  // A float's mantissa has 24 bits: what is below is cut off, halves to even.
  logic [8:0] cut_2;  // the bits below the mantissa: 0...01...1
  logic [8:1] last_2;  // the mantissa's last bit, if any is below
  logic up_2;
  logic [31:0] size_3;
  logic [8:1] added_3;
  always_comb begin
    cut_2[8] = 1'b0;
    for (int i = 0; i < 8; i++) cut_2[i] = round_sum_2 && (size_2[31:24] >> i) != 8'd0;
    last_2 = cut_2[7:0] & ~cut_2[8:1];
    up_2 = (size_2[7:0] & last_2) != 8'd0 &&
           ((size_2[8:1] & last_2) != 8'd0 || (size_2[7:0] & cut_2[8:1]) != 8'd0);
  end
  logic [31:0] size_4;
  always_ff @(posedge clk) begin
    size_3 <= size_2 & {23'h7FFFFF, ~cut_2};
    added_3 <= up_2 ? last_2 : 8'd0;
  end
  assign size_4 = size_3 + {23'd0, added_3, 1'b0};  // its register is that of the multiplier

  // 63 bits of product.
  logic [30:0] multiplier_4;
  logic [5:0] shift_4, shift_5, shift_6, shift_7;
  logic [5:0] shift_8;
  logic [62:0] product_8;
  always_ff @(posedge clk) begin
    multiplier_4 <= multiplier;
    shift_4 <= shift;
    shift_5 <= shift_4;
    shift_6 <= shift_5;
    shift_7 <= shift_6;
    shift_8 <= shift_7;
  end
  requantise_product product (
      .clk(clk), .size(size_4), .multiplier_4(multiplier_4), .round_up_5(fixed_point_5),
      .round_up_ties_5(fixed_point_5 && !negative[5]), .product_8(product_8)
  );

  // Eight bits of the integer, 25 of the fraction, and whether there is anything beyond on each side.
  logic [7:0] whole_11;
  logic [24:0] fraction_11;
  logic more_11, over_11;
  logic [5:0] shift_11;
  requantise_shift shifter (
      .clk(clk), .product_8(product_8), .shift_8(shift_8), .whole_11(whole_11),
      .fraction_11(fraction_11), .more_11(more_11), .over_11(over_11), .shift_11(shift_11)
  );

  // Whether the integer is rounded up, and the byte.
  logic [7:0] whole_13;
  logic up_13, over_13, over_14, negative_14;
  requantise_round round (
      .clk(clk), .whole_11(whole_11), .fraction_11(fraction_11), .more_11(more_11),
      .shifted_11(shift_11 != 6'd0), .negative_12(negative[12]), .mode_12(mode_12), .up_13(up_13)
  );
  logic [7:0] whole_12;
  logic over_12;
  /* verilator lint_off UNUSEDSIGNAL */  // the last bit is the carry's
  logic [10:0] biased_14;
  /* verilator lint_on UNUSEDSIGNAL */
  logic signed [9:0] value_14;
  assign value_14 = biased_14[10:1];
  always_ff @(posedge clk) begin
    whole_12 <= whole_11;
    whole_13 <= whole_12;
    {over_14, over_13, over_12} <= {over_13, over_12, over_11};
    negative_14 <= negative[13];
    // -(whole + up) is the complement of whole, plus 1 unless it is rounded up. A bit below the
    // addends' last makes the carry.
    biased_14 <= {{2{zero_point_13[7]}}, zero_point_13, 1'b1} +
                 {{2{negative[13]}}, whole_13 ^ {8{negative[13]}}, up_13 ^ negative[13]};
    if (over_14) result <= negative_14 ? least_14 : most_14;
    else if (value_14 < $signed({{2{least_14[7]}}, least_14})) result <= least_14;
    else if (value_14 > $signed({{2{most_14[7]}}, most_14})) result <= most_14;
    else result <= value_14[7:0];
  end
endmodule
