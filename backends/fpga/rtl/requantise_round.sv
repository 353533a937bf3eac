// Whether whole.fraction (and `more` beyond) is rounded up, by mode.
//
// HALF_EVEN rounds twice: first to the 24 bits of a float, the last of which weighs 2^(e - 23) where
// whole has e + 1 bits (e = -1 for 0.1...). That makes halves of what is at most 2^(e - 24) off them,
// and changes no other decision; so what counts is the fraction's distance from a half.
module requantise_round (
    input logic clk,
    input logic [7:0] whole_11,
    input logic [24:0] fraction_11,  // the last bit weighs 2^-25
    input logic more_11,
    input logic shifted_11,
    input logic negative_12,
    input logic [2:0] mode_12,
    output logic up_13
);
  // Bit j of `near` tells whether bit j of the fraction weighs 2^(e - 24) or more.
  logic [8:0] near_11, place_11;
  logic half_12, odd_12, shifted_12, more_12;
  logic upper_any_12, upper_all_12, lower_above_12, lower_at_12, lower_below_12, lower_all_12;
  always_comb begin
    for (int j = 0; j < 8; j++) near_11[j] = (whole_11 >> j) == 8'd0;
    near_11[8] = 1'b1;
    place_11 = near_11 & ~{near_11[7:0], 1'b0};
  end
  always_ff @(posedge clk) begin
    half_12 <= fraction_11[24];
    odd_12 <= whole_11[0];
    shifted_12 <= shifted_11;
    more_12 <= more_11 || fraction_11[8:0] != 9'd0;
    upper_any_12 <= fraction_11[23:9] != 15'd0;
    upper_all_12 <= fraction_11[23:9] == 15'h7FFF;
    lower_above_12 <= (fraction_11[8:0] & {near_11[7:0], 1'b0}) != 9'd0;
    lower_at_12 <= (fraction_11[8:0] & place_11) != 9'd0;
    lower_below_12 <= more_11 || (fraction_11[8:0] & ~near_11) != 9'd0;
    lower_all_12 <= (fraction_11[8:0] | ~near_11) == 9'h1FF;
  end

  logic more_than_half, far_above_half, almost_half;
  always_comb begin
    more_than_half = half_12 && (upper_any_12 || more_12);
    far_above_half = half_12 && (upper_any_12 || lower_above_12 || (lower_at_12 && lower_below_12));
    almost_half = half_12 || (upper_all_12 && lower_all_12);
  end
  always_ff @(posedge clk) begin
    case (mode_12)
      arithmetic_pkg::HALF_EVEN: up_13 <= odd_12 ? almost_half : far_above_half;
      arithmetic_pkg::FIXED_POINT: up_13 <= half_12 && shifted_12;
      arithmetic_pkg::FIXED_POINT_ONCE: up_13 <= negative_12 ? more_than_half : half_12;
      arithmetic_pkg::EXACT_HALF_EVEN: up_13 <= odd_12 ? half_12 : more_than_half;
      default: up_13 <= half_12;
    endcase
  end
endmodule
