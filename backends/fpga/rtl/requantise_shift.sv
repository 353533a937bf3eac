// product / 2^(31 + shift): eight bits of the integer and 25 of the fraction, `more` where there is
// anything below them and `over` where there is anything above. Three steps, by 16, 4s and 1s.
// Shifts of 32 and more leave nothing: products are below 2^62, the results below a half.
module requantise_shift (
    input logic clk,
    input logic [62:0] product_8,
    input logic [5:0] shift_8,
    output logic [7:0] whole_11,
    output logic [24:0] fraction_11,
    output logic more_11,
    output logic over_11,
    output logic [5:0] shift_11
);
  logic [5:0] shift_9, shift_10;
  logic [47:0] window_9;
  logic [35:0] window_10;
  logic more_9, more_10, over_9, over_10;
  always_ff @(posedge clk) begin
    {shift_11, shift_10, shift_9} <= {shift_10, shift_9, shift_8};
    window_9 <= shift_8[5] ? 48'd0 : shift_8[4] ? {7'd0, product_8[62:22]} : product_8[53:6];
    over_9 <= shift_8[5:4] == 2'd0 && product_8[62:54] != 9'd0;
    more_9 <= product_8[5:0] != 6'd0 || (shift_8[4] && product_8[21:6] != 16'd0);
    case (shift_9[3:2])
      2'd0: window_10 <= window_9[35:0];
      2'd1: window_10 <= window_9[39:4];
      2'd2: window_10 <= window_9[43:8];
      default: window_10 <= window_9[47:12];
    endcase
    over_10 <= over_9 || (shift_9[3:2] == 2'd0 && window_9[39:36] != 4'd0) ||
               (!shift_9[3] && window_9[43:40] != 4'd0) ||
               (shift_9[3:2] != 2'd3 && window_9[47:44] != 4'd0);
    more_10 <= more_9 || (shift_9[3:2] != 2'd0 && window_9[3:0] != 4'd0) ||
               (shift_9[3] && window_9[7:4] != 4'd0) ||
               (shift_9[3:2] == 2'd3 && window_9[11:8] != 4'd0);
    case (shift_10[1:0])
      2'd0: {whole_11, fraction_11} <= window_10[32:0];
      2'd1: {whole_11, fraction_11} <= window_10[33:1];
      2'd2: {whole_11, fraction_11} <= window_10[34:2];
      default: {whole_11, fraction_11} <= window_10[35:3];
    endcase
    over_11 <= over_10 || (shift_10[1:0] == 2'd0 && window_10[33]) ||
               (!shift_10[1] && window_10[34]) || (shift_10[1:0] != 2'd3 && window_10[35]);
    more_11 <= more_10 || (shift_10[1:0] != 2'd0 && window_10[0]) ||
               (shift_10[1] && window_10[1]) || (shift_10[1:0] == 2'd3 && window_10[2]);
  end
endmodule
