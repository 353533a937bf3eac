// Puts the words of a windowed layer side by side: windows of 3 x 3 pixels of a group of channels, so
// that each channel's column of the array gets its own nine taps. Words come as window_walk asks for
// them; when a column of the input is complete the windows of two outputs below each other are, and they
// go to the array one after the other, one clock later than words of other layers would.
module window_unit #(
    parameter int GROUP = 32,
    parameter int ENTRY_BITS = 8
) (
    input logic clk,
    input logic reset,
    input logic two,  // columns in a clock: strides of 2
    input logic [7:0] padding,
    input logic [2*GROUP*8-1:0] words,
    input layer_pkg::window_clock_t tag,  // of these words
    /* verilator lint_off UNUSEDSIGNAL */  // below a block's pixels
    input logic [15:0] width,  // of the output
    /* verilator lint_on UNUSEDSIGNAL */
    output logic valid,
    output logic [GROUP*9*8-1:0] taps,  // by channel
    output logic is_first,  // of the pass
    output logic is_last,
    output logic [ENTRY_BITS-1:0] entry,
    output logic half  // which pixel of the entry
);
  localparam int WORD = GROUP * 8;
  localparam int ROWS = 5;  // of two windows with strides of 2
  logic [WORD-1:0] staged[ROWS][2], now[ROWS][2], window[ROWS][3];
  always_comb begin
    now = staged;
    if (two) begin
      for (int r = 0; r < ROWS; r++) if (tag.phase == 3'(r)) now[r] = '{words[0+:WORD], words[WORD+:WORD]};
    end else begin
      for (int r = 0; r < 2; r++) begin
        if (tag.phase == 3'(r)) begin
          now[2*r][0] = words[0+:WORD];
          now[2*r+1][0] = words[WORD+:WORD];
        end
      end
    end
    for (int r = 0; r < ROWS; r++)
      for (int c = 0; c < 2; c++) if (tag.is_padding) now[r][c] = {GROUP{padding}};
  end

  logic emits, emits_second, has_second, row, first, last;
  logic [15:0] pixel, second_pixel;
  /* verilator lint_off UNUSEDSIGNAL */  // a block has fewer pixels
  logic [15:0] pixel_now;
  /* verilator lint_on UNUSEDSIGNAL */
  assign row = emits_second;
  assign pixel_now = row ? second_pixel : pixel;
  always_ff @(posedge clk) begin
    if (tag.valid) staged <= now;
    if (tag.valid && tag.column_ends) begin
      for (int r = 0; r < ROWS; r++)
        window[r] <= two ? '{window[r][2], now[r][0], now[r][1]}
                         : '{window[r][1], window[r][2], now[r][0]};
    end
    emits <= tag.valid && tag.emits;
    emits_second <= emits && has_second;
    if (tag.valid && tag.emits) begin
      pixel <= tag.pixel;
      second_pixel <= tag.pixel + width;
      has_second <= tag.has_second;
      first <= tag.is_first;
      last <= tag.is_last;
    end
    valid <= emits || emits_second;
    is_first <= emits && first;
    is_last <= last && (has_second ? emits_second : emits);
    entry <= pixel_now[ENTRY_BITS:1];
    half <= pixel_now[0];
    for (int c = 0; c < GROUP; c++) begin
      for (int t = 0; t < 9; t++) begin
        if (!row) taps[(c*9+t)*8+:8] <= window[t/3][t%3][c*8+:8];
        else if (two) taps[(c*9+t)*8+:8] <= window[t/3+2][t%3][c*8+:8];
        else taps[(c*9+t)*8+:8] <= window[t/3+1][t%3][c*8+:8];
      end
    end
    if (reset) {valid, emits, emits_second} <= '0;
  end
endmodule
