// Delays row r by r % 8 clocks: a cascade adds its rows one after another, a clock each. Columns
// share the delayed rows.
module cascade_skew #(
    parameter int ROWS = 32,
    parameter int WIDTH = 8
) (
    /* verilator lint_off UNUSEDSIGNAL */  // one row waits for nothing
    input logic clk,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [ROWS*WIDTH-1:0] rows,
    output logic [ROWS*WIDTH-1:0] skewed
);
  for (genvar r = 0; r < ROWS; r++) begin : g_row
    localparam int DELAY = r % arithmetic_pkg::CASCADE;
    if (DELAY == 0) begin : g_none
      assign skewed[r*WIDTH+:WIDTH] = rows[r*WIDTH+:WIDTH];
    end else begin : g_delay
      logic [DELAY*WIDTH-1:0] line;
      always_ff @(posedge clk) line <= (DELAY * WIDTH)'({line, rows[r*WIDTH+:WIDTH]});
      assign skewed[r*WIDTH+:WIDTH] = line[DELAY*WIDTH-1-:WIDTH];
    end
  end
endmodule
