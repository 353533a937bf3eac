// LANES sums to bytes each clock, and what is common to the lanes, which may differ from clock to
// clock: a second trip (a residual sum) may come between others. `valid` goes along.
module requantise_lanes #(
    parameter int LANES = 32
) (
    input logic clk,
    input logic valid,
    input logic [2:0] mode,
    input logic [7:0] zero_point,
    input logic [7:0] least,
    input logic [7:0] most,
    input logic [LANES*32-1:0] sums,
    input logic [LANES*32-1:0] addends,      // biases, or the other operands of residual sums
    input logic [LANES*31-1:0] multipliers,  // MULTIPLIER_DELAY clocks after the sums
    input logic [LANES*6-1:0] shifts,        // at the same time
    output logic valid_out,                  // REQUANTISE_LATENCY clocks after the sums
    output logic [LANES*8-1:0] results
);
  localparam int LATENCY = arithmetic_pkg::REQUANTISE_LATENCY;
  logic [LATENCY*1-1:0] valid_line;
  logic [12*3-1:0] mode_line;
  logic [13*8-1:0] zero_point_line;
  logic [14*8-1:0] least_line, most_line;
  logic round_sum, fixed_point;
  initial valid_line = '0;
  always_ff @(posedge clk) begin
    valid_line <= {valid_line[LATENCY-2:0], valid};
    mode_line <= {mode_line[11*3-1:0], mode};
    zero_point_line <= {zero_point_line[12*8-1:0], zero_point};
    least_line <= {least_line[13*8-1:0], least};
    most_line <= {most_line[13*8-1:0], most};
    round_sum <= mode_line[2:0] == arithmetic_pkg::HALF_EVEN;
    fixed_point <= mode_line[4*3-1-:3] == arithmetic_pkg::FIXED_POINT;
  end
  assign valid_out = valid_line[LATENCY-1];

  for (genvar i = 0; i < LANES; i++) begin : g_lane
    requantise_lane lane (
        .clk(clk), .sum(sums[i*32+:32]), .addend(addends[i*32+:32]),
        .multiplier(multipliers[i*31+:31]), .shift(shifts[i*6+:6]), .round_sum_2(round_sum),
        .fixed_point_5(fixed_point), .mode_12(mode_line[12*3-1-:3]),
        .zero_point_13(zero_point_line[13*8-1-:8]), .least_14(least_line[14*8-1-:8]),
        .most_14(most_line[14*8-1-:8]), .result(results[i*8+:8])
    );
  end
endmodule
