// The array: INPUT_CHANNELS bytes of two pixels times the weights of OUTPUT_CHANNELS columns, the
// sums a clock after another. Nothing stalls; `valid` goes along with the data. The order of weights
// is that of mac_column: with each datum that has `swap` set, the weights loaded until then (in the
// same clock at the latest) become those in use.
module mac_array #(
    parameter int INPUT_CHANNELS = 32,
    parameter int OUTPUT_CHANNELS = 32,
    parameter int PIXELS = 2,
    parameter int LOADED_COLUMNS = 2,  // columns whose weights come in one clock
    parameter int DEPTHWISE_ROWS = 9,
    parameter int LOADS = OUTPUT_CHANNELS / LOADED_COLUMNS,
    parameter int TAPS = DEPTHWISE_ROWS > 0 ? DEPTHWISE_ROWS : 1,
    parameter int SUM_BITS = 16 + $clog2(INPUT_CHANNELS)
) (
    input logic clk,
    input logic valid,
    input logic swap,
    input logic [INPUT_CHANNELS*8-1:0] first,
    input logic [INPUT_CHANNELS*8-1:0] second,
    input logic [OUTPUT_CHANNELS*TAPS*8-1:0] taps,  // by column
    input logic [LOADS-1:0] load,  // which of the groups of LOADED_COLUMNS columns is loaded
    input logic [LOADED_COLUMNS*INPUT_CHANNELS*8-1:0] weights,
    output logic valid_out,  // arithmetic_pkg::column_latency clocks after the data
    output logic [OUTPUT_CHANNELS*SUM_BITS-1:0] first_sums,
    output logic [OUTPUT_CHANNELS*SUM_BITS-1:0] second_sums
);
  localparam int CASCADE = arithmetic_pkg::CASCADE;
  localparam int LATENCY = arithmetic_pkg::column_latency(INPUT_CHANNELS);

  logic [LATENCY-1:0] valid_line;
  initial valid_line = '0;
  always_ff @(posedge clk) valid_line <= {valid_line[LATENCY-2:0], valid};
  assign valid_out = valid_line[LATENCY-1];

  logic [INPUT_CHANNELS*8-1:0] first_skewed, second_skewed;
  logic [LOADED_COLUMNS*INPUT_CHANNELS*8-1:0] weights_skewed;
  logic [CASCADE-1:0] swap_skewed;
  cascade_skew #(.ROWS(INPUT_CHANNELS)) skew_first (
      .clk(clk), .rows(first), .skewed(first_skewed)
  );
  cascade_skew #(.ROWS(INPUT_CHANNELS)) skew_second (
      .clk(clk), .rows(second), .skewed(second_skewed)
  );
  cascade_skew #(.ROWS(LOADED_COLUMNS * INPUT_CHANNELS)) skew_weights (
      .clk(clk), .rows(weights), .skewed(weights_skewed)
  );
  cascade_skew #(.ROWS(CASCADE), .WIDTH(1)) skew_swap (
      .clk(clk), .rows({CASCADE{swap}}), .skewed(swap_skewed)
  );

  for (genvar g = 0; g < LOADS; g++) begin : g_load
    logic [CASCADE-1:0] load_skewed;
    cascade_skew #(.ROWS(CASCADE), .WIDTH(1)) skew_load (
        .clk(clk), .rows({CASCADE{load[g]}}), .skewed(load_skewed)
    );
    for (genvar i = 0; i < LOADED_COLUMNS; i++) begin : g_column
      localparam int COLUMN = g * LOADED_COLUMNS + i;
      logic [TAPS*8-1:0] taps_skewed;
      cascade_skew #(.ROWS(TAPS)) skew_taps (
          .clk(clk), .rows(taps[COLUMN*TAPS*8+:TAPS*8]), .skewed(taps_skewed)
      );
      mac_column #(
          .INPUT_CHANNELS(INPUT_CHANNELS), .PIXELS(PIXELS), .DEPTHWISE_ROWS(DEPTHWISE_ROWS)
      ) column (
          .clk(clk), .first(first_skewed), .second(second_skewed), .taps(taps_skewed),
          .weights(weights_skewed[i*INPUT_CHANNELS*8+:INPUT_CHANNELS*8]),
          .load_weights(load_skewed), .swap_weights(swap_skewed),
          .first_sum(first_sums[COLUMN*SUM_BITS+:SUM_BITS]),
          .second_sum(second_sums[COLUMN*SUM_BITS+:SUM_BITS])
      );
    end
  end
endmodule
