// Walks through the pixels of a layer: for each step (a group of outputs and a block of pixels) the
// passes over taps and groups of inputs, two pixels a clock; of a windowed layer the passes over nine
// taps, a pixel a clock. Gives the array its data, and says what their sums are for.
module pixel_reader #(
    parameter int GROUP = 32,
    parameter int ENTRIES = 256,
    parameter int WORDS = 49152,
    parameter int BITS = $clog2(WORDS),
    parameter int ENTRY_BITS = $clog2(ENTRIES),
    parameter int LATENCY = 8  // from a pixel's turn to the array
) (
    input logic clk,
    input logic reset,
    input logic run,  // the layer is a new one, or not done yet
    /* verilator lint_off UNUSEDSIGNAL */  // what others need of a layer
    input layer_pkg::layer_t layer,
    /* verilator lint_on UNUSEDSIGNAL */
    input logic [15:0] loaded_rows,
    input logic [1:0] slot_free,  // a block of sums, by the step's parity
    input logic [7:0] tiles_loaded,
    output logic [7:0] passes_started,
    output logic done,
    output logic error,
    output logic issued,
    output logic waits_for_data,  // rows of the input, or weights
    output logic waits_for_sums,  // to be drained

    output logic [1:0] read,
    output logic [2*BITS-1:0] read_address,
    input logic [2*GROUP*8-1:0] read_data,

    output logic valid,  // to the array
    output logic swap,
    output logic [2*GROUP*8-1:0] data,
    output logic [GROUP*9*8-1:0] taps,  // of a windowed layer
    output logic half,  // of an entry, that the taps are for
    output logic [ENTRY_BITS-1:0] entry,
    output logic slot,
    output logic fresh,  // sums begin anew
    output logic maximum,
    output logic step_ends,

    // The step that its last sums complete, when step_ends is set at the array's input.
    output logic step_announce,  // at the step's first output
    output logic step_slot,
    output logic [15:0] step_group,
    output logic [31:0] step_pixel,
    output logic [31:0] step_pixels,
    output logic step_last_group
);
  import layer_pkg::*;
  localparam int WORD = GROUP * 8;

  // --- the walk --------------------------------------------------------------------------------
  typedef struct packed {
    logic [15:0] column;          // of the output
    logic signed [19:0] columns;  // of the input
    logic signed [19:0] rows;     // of the input
  } place_t;

  /* verilator lint_off UNUSEDSIGNAL */  // of a layer three fields are wanted
  function automatic place_t after(input place_t place, input layer_t of,
                                   input logic [15:0] end_column);
    if (place.column == end_column) begin
      after.column = 16'd0;
      after.columns = 20'sd0;
      after.rows = place.rows + $signed({16'd0, of.stride_height});
    end else begin
      after.column = place.column + 16'd1;
      after.columns = place.columns + $signed({16'd0, of.stride_width});
      after.rows = place.rows;
    end
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  logic walking, parity, run_1;
  logic [15:0] end_column;  // of the output
  always_ff @(posedge clk) end_column <= layer.out_width - 16'd1;
  place_t here, there, block_begin;
  logic [31:0] block, pixel, pairs_left, pixels, pairs;
  logic [15:0] group, in_group;
  logic [3:0] kernel_row;
  logic [4:0] kernel_column;
  logic signed [19:0] row_offset, column_offset;
  logic [31:0] group_base, output_group_base;
  logic first_pair, first_pass;
  logic last_group, last_block, last_pair, last_pass, last_column, last_in_group;
  assign there = after(here, layer, end_column);
  assign last_group = group + 16'd1 == layer.out_groups;
  assign last_pair = layer.windowed ? window_last : pairs_left == 32'd1;
  assign last_in_group = layer.op != CONV || in_group + 16'd1 == layer.in_groups;
  logic [4:0] columns_on, rows_on;  // of the kernel, from pass to pass
  assign columns_on = layer.windowed ? 5'd3 : layer.folded ? 5'd8 : 5'd1;
  assign rows_on = layer.windowed ? 5'd3 : 5'd1;
  assign last_column = kernel_column + columns_on >= {1'b0, layer.kernel_width};
  assign last_pass = last_in_group && last_column &&
                     {1'b0, kernel_row} + rows_on >= {1'b0, layer.kernel_height};
  assign pairs = (pixels + 32'd1) >> 1;

  logic signed [19:0] rows_a, rows_b, columns_a, columns_b;
  logic signed [19:0] window_rows[2], window_columns[2], window_rows_on;
  logic window_last, restart;
  window_clock_t window_tag;
  window_walk window (
      .clk(clk), .layer(layer), .restart(restart), .issue(issue), .pixels(pixels),
      .kernel_row(kernel_row), .row(here.rows + row_offset), .column_offset(column_offset),
      .rows(window_rows), .columns(window_columns), .rows_on(window_rows_on), .last(window_last),
      .tag(window_tag)
  );
  assign restart = (run && !run_1) || (issue && last_pair);
  assign rows_a = layer.windowed ? window_rows[0] : here.rows + row_offset;
  assign rows_b = layer.windowed ? window_rows[1] : there.rows + row_offset;
  assign columns_a = layer.windowed ? window_columns[0] : here.columns + column_offset;
  assign columns_b = layer.windowed ? window_columns[1] : there.columns + column_offset;
  function automatic logic is_missing(input logic signed [19:0] row, input logic [15:0] height,
                                      input logic [15:0] loaded);
    is_missing = row >= 0 && row < $signed({4'd0, height}) && row >= $signed({4'd0, loaded});
  endfunction
  logic missing, issue;
  assign missing = is_missing(rows_a, layer.in_height, loaded_rows) ||
                   is_missing(rows_b, layer.in_height, loaded_rows);
  // A pass of two pairs that had to wait for rows may be followed by the next at once, whose second
  // pair would read its sums before they are written. The first output of a windowed pass comes later
  // than its first words, and neither its tile nor a free block of sums is wanted before.
  logic [1:0] gap;
  logic [1:0] window_starts;
  logic first_output, no_tile, no_block;
  assign first_output = layer.windowed ? window_tag.is_first : first_pair;
  assign no_tile = first_output && tiles_loaded == passes_started;
  assign no_block = first_output && first_pass && !slot_free[parity];
  assign issue = walking && !missing && gap == 2'd0 && !no_block && !no_tile;
  assign issued = issue;
  assign waits_for_data = walking && (missing || no_tile);
  assign waits_for_sums = walking && !issue && !waits_for_data;

  logic [ENTRY_BITS-1:0] entry_0;
  place_t next_place;
  always_comb begin
    next_place = after(there, layer, end_column);
    if (layer.windowed) next_place = '{16'd0, 20'sd0, here.rows + window_rows_on};
  end
  logic signed [19:0] pad_top, pad_left;
  assign pad_top = -$signed({12'd0, layer.pad_top});
  assign pad_left = -$signed({12'd0, layer.pad_left});
  logic step_done;
  assign step_done = issue && last_pair && last_pass;
  logic layer_ends;
  assign layer_ends = step_done && last_group && last_block;

  assign step_announce = issue && first_output && first_pass;
  assign step_slot = parity;
  assign step_group = group;
  assign step_pixel = pixel;
  assign step_pixels = pixels;
  assign step_last_group = last_group;

  always_ff @(posedge clk) begin
    run_1 <= run;
    if (run && !run_1) begin
      last_block <= layer.blocks == 32'd1;
      pixels <= layer.blocks == 32'd1 ? layer.last_block_pixels : layer.block_pixels;
      walking <= layer.op != TRANSFER;
      done <= layer.op == TRANSFER;
      {group, in_group} <= '0;
      {block, pixel} <= '0;
      {kernel_row, kernel_column} <= '0;
      row_offset <= pad_top;
      column_offset <= pad_left;
      here <= '0;
      block_begin <= '0;
      group_base <= layer.in_base;
      output_group_base <= layer.in_base;
      pairs_left <= layer.blocks == 32'd1 ? (layer.last_block_pixels + 32'd1) >> 1
                                          : layer.block_pixels >> 1;
      entry_0 <= '0;
      {first_pair, first_pass} <= 2'b11;
    end
    if (!run) done <= 1'b0;
    if (gap != 2'd0) gap <= gap - 2'd1;
    if (run && !run_1 && layer.windowed) gap <= 2'd1;
    if (issue && last_pair && layer.windowed) gap <= 2'd3;
    if (issue && last_pair && !layer.windowed && pairs == 32'd2) gap <= 2'd1;
    window_starts <= {window_starts[0], issue && window_tag.is_first};
    if (layer.windowed ? window_starts[1] : issue && first_pair)
      passes_started <= passes_started + 8'd1;
    if (issue) begin
      first_pair <= last_pair;
      pairs_left <= last_pair ? pairs : pairs_left - 32'd1;
      entry_0 <= last_pair ? '0 : entry_0 + 1'b1;
      here <= last_pair ? block_begin : next_place;
      if (last_pair) begin
        first_pass <= last_pass;
        in_group <= in_group + 16'd1;
        group_base <= group_base + layer.in_pixels;
        if (last_in_group) begin
          in_group <= '0;
          group_base <= output_group_base;
          kernel_column <= kernel_column + columns_on;
          column_offset <= column_offset +
              (layer.windowed ? 20'sd3 : layer.folded ? 20'sd8 : $signed({16'd0, layer.dilation_width}));
          if (last_column) begin
            kernel_column <= '0;
            column_offset <= pad_left;
            kernel_row <= kernel_row + rows_on[3:0];
            row_offset <= row_offset +
                (layer.windowed ? 20'sd3 : $signed({16'd0, layer.dilation_height}));
          end
        end
      end
    end
    if (step_done) begin
      parity <= !parity;
      kernel_row <= '0;
      row_offset <= pad_top;
      if (layer.by_block ? last_group : !last_block) begin  // the next block
        block <= block + 32'd1;
        last_block <= block + 32'd2 == layer.blocks;
        pixels <= block + 32'd2 == layer.blocks ? layer.last_block_pixels : layer.block_pixels;
        pixel <= pixel + layer.block_pixels;
        block_begin <= next_place;
        here <= next_place;
        pairs_left <= block + 32'd2 == layer.blocks ? (layer.last_block_pixels + 32'd1) >> 1
                                                    : layer.block_pixels >> 1;
      end
      if (!layer.by_block && last_block) begin  // from the first block again
        block <= '0;
        last_block <= layer.blocks == 32'd1;
        pixels <= layer.blocks == 32'd1 ? layer.last_block_pixels : layer.block_pixels;
        pixel <= '0;
        block_begin <= '0;
        here <= '0;
        pairs_left <= layer.blocks == 32'd1 ? (layer.last_block_pixels + 32'd1) >> 1
                                            : layer.block_pixels >> 1;
      end
      if (layer.by_block || last_block) begin  // another group of outputs
        group <= layer.by_block && last_group ? 16'd0 : group + 16'd1;
        if (layer.op != CONV) begin
          group_base <= layer.by_block && last_group ? layer.in_base
                                                     : output_group_base + layer.in_pixels;
          output_group_base <= layer.by_block && last_group
                                   ? layer.in_base : output_group_base + layer.in_pixels;
        end
      end
    end
    if (layer_ends) begin
      walking <= 1'b0;
      done <= 1'b1;
    end
    if (reset) begin
      {walking, done, parity, run_1, gap, window_starts} <= '0;
      passes_started <= '0;
    end
  end

  // --- addresses -------------------------------------------------------------------------------
  typedef struct packed {
    logic valid;
    logic swap;
    logic [ENTRY_BITS-1:0] entry;
    logic slot;
    logic fresh;
    logic step_ends;
    window_clock_t window;
  } meta_t;
  meta_t meta[LATENCY+1];
  logic signed [19:0] row_1[2], column_1[2], column_2[2];
  logic signed [31:0] row_2[2];
  logic inside_1[2], inside_2[2], inside_3[2];
  logic signed [31:0] pixel_3[2];
  logic signed [19:0] column_3[2];
  logic [31:0] base_1, base_2, base_3;
  logic [31:0] address_4[2];
  logic [1:0] read_4;

  always_comb begin
    meta[0].valid = issue;
    meta[0].swap = first_pair;
    meta[0].entry = entry_0;
    meta[0].slot = parity;
    meta[0].fresh = first_pass;
    meta[0].step_ends = last_pair && last_pass;
    meta[0].window = window_tag;
    meta[0].window.valid = issue && layer.windowed;
    meta[0].window.emits = issue && layer.windowed && window_tag.emits;
    for (int i = 0; i < 2; i++)
      inside_1[i] = row_1[i] >= 0 && row_1[i] < $signed({4'd0, layer.in_height}) &&
                    (layer.folded || (column_1[i] >= 0 && column_1[i] < $signed({4'd0, layer.in_width})));
  end
  always_ff @(posedge clk) begin
    for (int i = 1; i <= LATENCY; i++) meta[i] <= meta[i-1];
    row_1 <= '{rows_a, rows_b};
    column_1 <= '{columns_a, columns_b};
    base_1 <= group_base;
    for (int i = 0; i < 2; i++) begin
      row_2[i] <= 32'(row_1[i]) * $signed({16'd0, layer.in_width});
      pixel_3[i] <= row_2[i] + 32'(column_2[i]);
    end
    column_2 <= column_1;
    column_3 <= column_2;
    inside_2 <= inside_1;
    inside_3 <= inside_2;
    base_2 <= base_1;
    base_3 <= base_2;
    if (layer.folded) begin
      address_4[0] <= base_3 + (32'(pixel_3[0]) >>> 3);
      address_4[1] <= base_3 + (32'(pixel_3[0]) >>> 3) + 32'd1;
      read_4 <= {2{meta[3].valid}};
    end else begin
      address_4[0] <= base_3 + pixel_3[0];
      address_4[1] <= base_3 + pixel_3[1];
      read_4 <= {meta[3].valid && inside_3[1], meta[3].valid && inside_3[0]};
    end
    if (reset) begin
      for (int i = 1; i <= LATENCY; i++) meta[i] <= '0;
      read_4 <= '0;
    end
  end
  assign read = read_4;
  assign read_address = {address_4[1][BITS-1:0], address_4[0][BITS-1:0]};
  // An image's row may begin before the map and end behind it: what is read there is padding.
  always_ff @(posedge clk) begin
    if (!layer.folded && ((read_4[0] && address_4[0] >= 32'(WORDS)) ||
                          (read_4[1] && address_4[1] >= 32'(WORDS)))) error <= 1'b1;
    if (reset) error <= 1'b0;
  end

  // --- what the array gets ---------------------------------------------------------------------
  typedef struct packed {
    logic [1:0] is_inside;
    logic [2:0] shift;
    logic signed [1:0][19:0] column;
  } pick_t;
  pick_t pick[4];  // beside the banks: 4 is the clock of the address
  localparam int SLOTS = GROUP / 4;
  /* verilator lint_off UNUSEDSIGNAL */  // of a layer two fields are wanted
  // The four bytes of an image's pixel: those at `from` of the two words, or padding.
  function automatic logic [31:0] folded_pixel(input logic [2*WORD-1:0] words,
                                               input logic [5:0] from,
                                               input logic signed [19:0] column,
                                               input logic is_inside, input layer_t of);
    folded_pixel = {4{of.padding}};
    if (is_inside && column >= 0 && column < $signed({4'd0, of.in_width}) &&
        from < 6'(2 * SLOTS))
      folded_pixel = words[from[$clog2(2*SLOTS)-1:0]*32+:32];
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */
  logic [2*WORD-1:0] picked;
  logic [4:0] shifts[2];
  assign shifts[0] = {2'd0, pick[3].shift};
  assign shifts[1] = {2'd0, pick[3].shift} + {1'b0, layer.stride_width};
  always_comb begin
    picked = read_data;
    for (int p = 0; p < 2; p++) begin
      if (layer.folded) begin
        for (int s = 0; s < SLOTS; s++)
          picked[p*WORD+s*32+:32] =
              folded_pixel(read_data, {1'b0, shifts[p]} + 6'(s),
                           $signed(pick[3].column[p]) + 20'(s), pick[3].is_inside[p], layer);
      end else if (!pick[3].is_inside[p]) begin
        picked[p*WORD+:WORD] = {GROUP{layer.padding}};
      end
    end
  end
  always_ff @(posedge clk) begin
    pick[0] <= '{{inside_3[1], inside_3[0]}, pixel_3[0][2:0], {column_3[1], column_3[0]}};
    for (int i = 1; i < 4; i++) pick[i] <= pick[i-1];
    data <= picked;
    if (layer.windowed) data[WORD-1:0] <= '0;  // the first pixel gives way to the taps
  end

  // --- windows, which reach the array two clocks or three later -----------------------------------------
  logic window_valid, window_is_first, window_is_last;
  logic [ENTRY_BITS-1:0] window_entry;
  logic [2:0] window_meta, window_out;  // slot, fresh, step_ends
  window_unit #(
      .GROUP(GROUP), .ENTRY_BITS(ENTRY_BITS)
  ) windows (
      .clk(clk), .reset(reset), .two(layer.stride_width == 4'd2), .clear(!layer.windowed), .words(picked),
      .tag(meta[LATENCY-1].window), .tag_1(meta[LATENCY].window), .width(layer.out_width), .valid(window_valid),
      .taps(taps), .is_first(window_is_first), .is_last(window_is_last), .entry(window_entry),
      .half(half)
  );
  always_ff @(posedge clk) begin
    if (meta[LATENCY].window.emits)
      window_meta <= {meta[LATENCY].slot, meta[LATENCY].fresh, meta[LATENCY].step_ends};
    window_out <= window_meta;
  end

  always_comb begin
    if (layer.windowed) begin
      valid = window_valid;
      swap = window_valid && window_is_first;
      entry = window_entry;
      {slot, fresh, step_ends} = {window_out[2:1], window_out[0] && window_is_last};
    end else begin
      valid = meta[LATENCY].valid;
      swap = meta[LATENCY].valid && meta[LATENCY].swap;
      entry = meta[LATENCY].entry;
      slot = meta[LATENCY].slot;
      fresh = meta[LATENCY].fresh;
      step_ends = meta[LATENCY].step_ends;
    end
  end
  assign maximum = layer.op == MAX_POOL;
endmodule
