// Loads every STEP-th row of a map from memory into the banks, from row FIRST on: takes the bytes of
// its pixels apart into words of a group, or puts an image's pixels of four bytes side by side in words.
module map_loader #(
    parameter int GROUP = 32,
    parameter int BITS = 16,
    parameter int FIRST = 0,
    parameter int STEP = 4,
    parameter int STROBES = GROUP / 4
) (
    input logic clk,
    input logic reset,
    input logic start,
    input logic [63:0] base,
    /* verilator lint_off UNUSEDSIGNAL */  // what others need of a layer
    input layer_pkg::layer_t layer,
    /* verilator lint_on UNUSEDSIGNAL */
    output logic request,
    output logic [63:0] address,
    output logic [4:0] beats,
    input logic grant,
    input logic valid,
    input logic [127:0] data,
    output logic write,
    output logic [BITS-1:0] write_address,
    output logic [STROBES-1:0] write_strobe,
    output logic [GROUP*8-1:0] write_data,
    input logic write_ready,
    output logic [15:0] next_row,  // all its rows before are loaded
    output logic busy
);
  localparam int DEPTH = 128;
  localparam int WORD = GROUP * 8;
  localparam int BUFFER = 16 + GROUP;  // bytes
  localparam int COUNT = $clog2(BUFFER + 1);

  // --- what is asked for: rows that follow each other STEP rows apart ------------------------------
  logic asking;
  logic [63:0] ask_row, ask_at;
  logic [16:0] ask_number;
  logic [31:0] rows_apart;
  logic [7:0] room;
  logic [31:0] beats_left;  // of the row
  logic [5:0] wanted;
  assign rows_apart = layer.load_row_bytes * 32'(STEP);
  always_comb begin
    wanted = 6'd16 - {2'd0, ask_at[7:4]};
    if (beats_left < {26'd0, wanted}) wanted = beats_left[5:0];
    request = asking && room >= {2'd0, wanted};
    address = ask_at;
    beats = wanted[4:0];
  end

  // --- beats that came ---------------------------------------------------------------------------
  (* ram_style = "distributed" *) logic [127:0] fifo[DEPTH];
  logic [6:0] head, tail;
  logic [7:0] count;
  logic take;

  // --- pixels ------------------------------------------------------------------------------------
  logic [BUFFER*8-1:0] bytes, shifted, joined;
  logic [COUNT-1:0] held, need, left;
  logic active, skipping, have;
  logic [15:0] row, column, channel, pitch_left;
  logic [63:0] row_address;
  logic [3:0] beat_skip;
  logic is_first_beat;
  logic [31:0] pixel_word, row_word, group_word;
  logic last_of_pixel, last_of_row, advance;
  logic [15:0] channels_left;
  logic [WORD-1:0] pixel;
  logic [15:0] junk;
  // All beats of a row are taken before its end; those of the next row wait for it.
  logic [31:0] row_beats_left;
  logic last_taken;
  assign last_taken = row_beats_left == 32'd0;
  logic [17:0] row_step;
  assign row_step = {2'd0, layer.in_width} * 18'(STEP);

  assign channels_left = layer.load_channels - channel;
  assign junk = layer.load_pitch - layer.load_channels;
  always_comb begin
    if (skipping) need = pitch_left < 16'(GROUP) ? COUNT'(pitch_left) : COUNT'(GROUP);
    else need = channels_left < 16'(GROUP) ? COUNT'(channels_left) : COUNT'(GROUP);
    have = active && !is_first_beat && held >= need;
    advance = have && (skipping || write_ready || (layer.folded && !folded_full));
    write = layer.folded ? folded_full : have && !skipping;
    left = advance ? held - need : held;
    shifted = advance ? bytes >> {need, 3'd0} : bytes;
    take = active && count != 8'd0 && !last_taken && (is_first_beat || left <= COUNT'(BUFFER - 16));
    joined = shifted;
    if (take && is_first_beat) joined = (BUFFER * 8)'(fifo[head]) >> {beat_skip, 3'd0};
    else if (take) joined = shifted | ((BUFFER * 8)'(fifo[head]) << {left, 3'd0});
    last_of_pixel = skipping ? pitch_left <= 16'(GROUP) : channels_left <= 16'(GROUP) && junk == 16'd0;
    last_of_row = last_of_pixel && column + 16'd1 == layer.in_width;
  end

  always_comb begin
    pixel = bytes[WORD-1:0];
    for (int i = 0; i < GROUP; i++) if (!(COUNT'(i) < need)) pixel[i*8+:8] = 8'd0;
    if (layer.load_flip) pixel = pixel ^ {GROUP{8'h80}};
    write_data = pixel;
    write_strobe = '1;
    write_address = group_word[BITS-1:0];
    if (layer.folded) begin
      write_data = folded_data;
      write_strobe = folded_strobe;
      write_address = folded_address;
    end
  end

  // --- an image's word: complete with its last pixel, or the row's ---------------------------------
  logic folded_full;
  logic [GROUP*8-1:0] folded_data;
  logic [STROBES-1:0] folded_strobe, folded_slot;
  logic [BITS-1:0] folded_address;
  assign folded_slot = STROBES'(1) << pixel_word[2:0];
  always_ff @(posedge clk) begin
    if (write_ready) folded_full <= 1'b0;
    if (layer.folded && advance && !skipping) begin
      folded_full <= pixel_word[2:0] == 3'(STROBES - 1) || column + 16'd1 == layer.in_width;
      folded_strobe <= folded_slot[0] || column == 16'd0 ? folded_slot : folded_strobe | folded_slot;
      folded_address <= BITS'(layer.in_base + (pixel_word >> 3));
      for (int s = 0; s < STROBES; s++)
        if (folded_slot[s]) folded_data[s*32+:32] <= pixel[31:0];
    end
    if (reset) folded_full <= 1'b0;
  end

  /* verilator lint_off UNUSEDSIGNAL */  // of sums only some bits are wanted
  function automatic logic [31:0] beats_of(input logic [63:0] begin_at, input logic [31:0] row_bytes);
    logic [63:0] last;
    last = {60'd0, begin_at[3:0]} + {32'd0, row_bytes} + 64'd15;
    beats_of = last[35:4];
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  always_ff @(posedge clk) begin
    if (request && grant) begin
      ask_at <= {ask_at[63:4], 4'd0} + {54'd0, wanted, 4'd0};
      beats_left <= beats_left - {26'd0, wanted};
      if (beats_left == {26'd0, wanted}) begin
        ask_number <= ask_number + 17'(STEP);
        ask_row <= ask_row + {32'd0, rows_apart};
        ask_at <= ask_row + {32'd0, rows_apart};
        beats_left <= beats_of(ask_row + {32'd0, rows_apart}, layer.load_row_bytes);
        if (ask_number + 17'(STEP) >= {1'b0, layer.in_height}) asking <= 1'b0;
      end
    end
    room <= room - ((request && grant) ? {2'd0, wanted} : 8'd0) + 8'(take);
    if (valid) begin
      fifo[tail] <= data;
      tail <= tail + 7'd1;
    end
    count <= count + 8'(valid) - 8'(take);
    if (take) begin
      head <= head + 7'd1;
      is_first_beat <= 1'b0;
      row_beats_left <= row_beats_left - 32'd1;
    end
    bytes <= joined;
    if (take && is_first_beat) held <= COUNT'(16) - COUNT'(beat_skip);
    else held <= left + (take ? COUNT'(16) : COUNT'(0));
    if (advance) begin
      if (!skipping) begin
        channel <= channel + 16'(GROUP);
        group_word <= group_word + layer.in_pixels;
        if (channels_left <= 16'(GROUP) && junk != 16'd0) begin
          skipping <= 1'b1;
          pitch_left <= junk;
        end
      end else begin
        pitch_left <= pitch_left - 16'(GROUP);
      end
      if (last_of_pixel) begin
        skipping <= 1'b0;
        channel <= '0;
        column <= column + 16'd1;
        pixel_word <= pixel_word + 32'd1;
        group_word <= layer.in_base + pixel_word + 32'd1;
      end
      if (last_of_row) begin
        column <= '0;
        row <= row + 16'(STEP);
        row_address <= row_address + {32'd0, rows_apart};
        beat_skip <= row_address[3:0] + rows_apart[3:0];
        row_beats_left <= beats_of(row_address + {32'd0, rows_apart}, layer.load_row_bytes);
        is_first_beat <= 1'b1;
        held <= '0;
        pixel_word <= row_word + {14'd0, row_step};
        row_word <= row_word + {14'd0, row_step};
        group_word <= layer.in_base + row_word + {14'd0, row_step};
        if ({1'b0, row} + 17'(STEP) >= {1'b0, layer.in_height}) active <= 1'b0;
      end
    end
    if (start) begin
      asking <= layer.in_height > 16'(FIRST);
      active <= layer.in_height > 16'(FIRST);
      ask_number <= 17'(FIRST);
      ask_row <= base + {32'd0, layer.load_row_bytes * 32'(FIRST)};
      ask_at <= base + {32'd0, layer.load_row_bytes * 32'(FIRST)};
      beats_left <= beats_of(base + {32'd0, layer.load_row_bytes * 32'(FIRST)},
                             layer.load_row_bytes);
      row_address <= base + {32'd0, layer.load_row_bytes * 32'(FIRST)};
      beat_skip <= base[3:0] + 4'(layer.load_row_bytes[3:0] * 4'(FIRST));
      row_beats_left <= beats_of(base + {32'd0, layer.load_row_bytes * 32'(FIRST)},
                                 layer.load_row_bytes);
      is_first_beat <= 1'b1;
      held <= '0;
      row <= 16'(FIRST);
      {column, channel} <= '0;
      skipping <= 1'b0;
      row_word <= {16'd0, layer.in_width} * 32'(FIRST);
      pixel_word <= {16'd0, layer.in_width} * 32'(FIRST);
      group_word <= layer.in_base + {16'd0, layer.in_width} * 32'(FIRST);
    end
    if (reset) begin
      {asking, active} <= '0;
      room <= 8'(DEPTH);
      count <= '0;
      {head, tail} <= '0;
    end
  end
  // A row is there when its last word is written.
  always_ff @(posedge clk)
    if (!folded_full || write_ready) next_row <= active ? row : 16'hFFFF;
  assign busy = active || (layer.folded && folded_full);
endmodule
