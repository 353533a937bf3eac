// Puts the words of a windowed layer side by side: windows of 3 x 3 pixels of a group of channels, so
// that each channel's column of the array gets its own nine taps. Words come as window_walk asks for
// them; when a column of the input is complete it moves into the windows of two outputs below each other,
// which go to the array one after the other, two clocks later than words of other layers would.
module window_unit #(
    parameter int GROUP = 32,
    parameter int ENTRY_BITS = 8
) (
    input logic clk,
    input logic reset,
    input logic two,  // columns in a clock: strides of 2
    input logic clear,  // no windowed layer: taps are 0
    input logic [2*GROUP*8-1:0] words,
    /* verilator lint_off UNUSEDSIGNAL */  // of each clock's tag the other has what is left
    input layer_pkg::window_clock_t tag,  // of these words
    input layer_pkg::window_clock_t tag_1,  // of those a clock before
    /* verilator lint_on UNUSEDSIGNAL */
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
  logic [WORD-1:0] staged[ROWS][2], window[ROWS][3];
  // With strides of 1 a column's words wait where the second column does with strides of 2. A column
  // outside of the map is asked for once, for all rows: what is read there is padding.
  logic [WORD-1:0] even_of_second;
  logic [ROWS-1:0] load;
  assign even_of_second = two ? words[WORD+:WORD] : words[0+:WORD];
  always_comb begin
    for (int r = 0; r < ROWS; r++)
      load[r] = tag.valid && (tag.is_padding || tag.phase == (two ? 3'(r) : 3'(r / 2)));
  end

  logic emits, emits_second, has_second, row, first, last;
  logic [15:0] pixel, second_pixel;
  /* verilator lint_off UNUSEDSIGNAL */  // a block has fewer pixels
  logic [15:0] pixel_now;
  /* verilator lint_on UNUSEDSIGNAL */
  assign row = emits_second;
  assign pixel_now = row ? second_pixel : pixel;
  always_ff @(posedge clk) begin
    for (int r = 0; r < ROWS; r++) begin
      if (load[r]) staged[r] <= '{words[0+:WORD], r % 2 == 0 ? even_of_second : words[WORD+:WORD]};
    end
    if (tag_1.valid && tag_1.column_ends) begin
      for (int r = 0; r < ROWS; r++)
        window[r] <= two ? '{window[r][2], staged[r][0], staged[r][1]}
                         : '{window[r][1], window[r][2], staged[r][1]};
    end
    emits <= tag_1.valid && tag_1.emits;
    emits_second <= emits && has_second;
    if (tag_1.valid && tag_1.emits) begin
      pixel <= tag_1.pixel;
      second_pixel <= tag_1.pixel + width;
      has_second <= tag_1.has_second;
      first <= tag_1.is_first;
      last <= tag_1.is_last;
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
    if (clear) taps <= '0;
    if (reset) {valid, emits, emits_second} <= '0;
  end
endmodule
