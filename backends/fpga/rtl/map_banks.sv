// Feature maps on chip: banks of a read-or-write port and a read port. Words that follow each other lie
// in different banks of a set of INTERLEAVED, so that readers and writers that walk through maps seldom
// meet, and pass each other when they do. The array's two reads are never
// refused: the first takes a bank's read-or-write port, the second its read port. Others wait for a
// clock in which theirs is free: writes of the drain, then those of the loaders; reads of a store or
// of a residual.
module map_banks #(
    parameter int GROUP = 32,
    parameter int BANKS = 12,
    parameter int BANK_WORDS = 4096,
    parameter int WORDS = BANKS * BANK_WORDS,
    parameter int BITS = $clog2(WORDS),
    parameter int STROBES = GROUP / 4,
    parameter int WRITERS = 3,
    parameter int INTERLEAVED = 4
) (
    input logic clk,
    input logic [1:0] read,
    input logic [2*BITS-1:0] read_address,
    output logic [2*GROUP*8-1:0] read_data,  // three clocks later
    input logic aux,
    input logic [BITS-1:0] aux_address,
    output logic aux_ready,
    output logic [GROUP*8-1:0] aux_data,  // three clocks later
    input logic [WRITERS-1:0] write,
    input logic [WRITERS*BITS-1:0] write_address,
    input logic [WRITERS*STROBES-1:0] write_strobe,
    input logic [WRITERS*GROUP*8-1:0] write_data,
    /* verilator lint_off UNOPTFLAT */  // a writer's answer does not depend on itself
    output logic [WRITERS-1:0] write_ready
    /* verilator lint_on UNOPTFLAT */
);
  localparam int OFFSET = $clog2(BANK_WORDS);
  localparam int BANK_BITS = BITS - OFFSET;
  localparam int LOW = $clog2(INTERLEAVED);
  localparam int WORD = GROUP * 8;

  /* verilator lint_off UNUSEDSIGNAL */  // each takes a part of the address
  function automatic logic [BANK_BITS-1:0] bank_of(input logic [BITS-1:0] address);
    bank_of = BANK_BITS'((address >> (OFFSET + LOW)) << LOW) | BANK_BITS'(address[LOW-1:0]);
  endfunction
  function automatic logic [OFFSET-1:0] offset_of(input logic [BITS-1:0] address);
    offset_of = address[OFFSET+LOW-1:LOW];
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  logic [BANK_BITS-1:0] read_bank[2], aux_bank;
  assign read_bank[0] = bank_of(read_address[BITS-1:0]);
  assign read_bank[1] = bank_of(read_address[2*BITS-1:BITS]);
  assign aux_bank = bank_of(aux_address);
  assign aux_ready = aux && !(read[1] && read_bank[1] == aux_bank);

  always_comb begin
    for (int w = 0; w < WRITERS; w++) begin
      write_ready[w] = write[w] &&
          !(read[0] && read_bank[0] == bank_of(write_address[w*BITS+:BITS]));
      for (int v = 0; v < w; v++)
        if (write[v] && bank_of(write_address[v*BITS+:BITS]) == bank_of(write_address[w*BITS+:BITS]))
          write_ready[w] = 1'b0;
    end
  end

  logic [BANKS*WORD-1:0] first, second;
  for (genvar b = 0; b < BANKS; b++) begin : g_bank
    logic [OFFSET-1:0] a_address, b_address;
    logic [STROBES-1:0] a_strobe;
    logic [WORD-1:0] a_data, a_read, b_read, a_out, b_out;
    logic b_enable, a_enable, a_writes;
    always_comb begin
      a_address = offset_of(read_address[BITS-1:0]);
      a_strobe = '0;
      a_data = write_data[WORD-1:0];
      a_enable = read[0] && read_bank[0] == BANK_BITS'(b);
      a_writes = 1'b0;
      for (int w = 0; w < WRITERS; w++) begin
        if (write_ready[w] && bank_of(write_address[w*BITS+:BITS]) == BANK_BITS'(b)) begin
          {a_enable, a_writes} = 2'b11;
          a_address = offset_of(write_address[w*BITS+:BITS]);
          a_strobe = write_strobe[w*STROBES+:STROBES];
          a_data = write_data[w*WORD+:WORD];
        end
      end
      b_enable = 1'b0;
      b_address = offset_of(aux_address);
      if (read[1] && read_bank[1] == BANK_BITS'(b)) begin
        b_enable = 1'b1;
        b_address = offset_of(read_address[BITS+:BITS]);
      end else if (aux_ready && aux_bank == BANK_BITS'(b)) begin
        b_enable = 1'b1;
      end
    end
    // A chip's memory block is 64 bits wide; one port reads or writes, which what is inferred relies on.
    for (genvar m = 0; m < WORD / 64; m++) begin : g_memory
      (* ram_style = "ultra" *) logic [63:0] memory[BANK_WORDS];
      always_ff @(posedge clk) begin
        if (a_enable) begin
          if (a_writes) begin
            for (int s = 0; s < 2; s++)
              if (a_strobe[m*2+s]) memory[a_address][s*32+:32] <= a_data[m*64+s*32+:32];
          end else begin
            a_read[m*64+:64] <= memory[a_address];
          end
        end
        if (b_enable) b_read[m*64+:64] <= memory[b_address];
      end
    end
    always_ff @(posedge clk) begin
      a_out <= a_read;
      b_out <= b_read;
    end
    assign first[b*WORD+:WORD] = a_out;
    assign second[b*WORD+:WORD] = b_out;
  end

  // Which bank's data come out, two clocks after its address.
  logic [BANK_BITS-1:0] bank_1[3], bank_2[3];
  always_ff @(posedge clk) begin
    bank_1 <= '{read_bank[0], read_bank[1], aux_bank};
    bank_2 <= bank_1;
    read_data[WORD-1:0] <= first[bank_2[0]*WORD+:WORD];
    read_data[2*WORD-1:WORD] <= second[bank_2[1]*WORD+:WORD];
    aux_data <= second[bank_2[2]*WORD+:WORD];
  end
endmodule
