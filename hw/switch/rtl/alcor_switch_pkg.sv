/// What the blocks of the collective switch share.
package alcor_switch_pkg;

  /// Rows of the communicator table.
  localparam int unsigned Contexts = 32;
  /// The row of the barrier over all boards.
  localparam int unsigned SyncContext = Contexts - 1;
  /// Phits of a stage's arrival memory, and of its own memory: all windows together.
  localparam int unsigned Pool = 2048;
  /// Bits of an address in the pool.
  localparam int unsigned PoolW = 11;
  /// Phits of each communicator's window in it, less one; see coll_place.
  localparam logic [Contexts*PoolW-1:0] WindowMasks = {
    {20{PoolW'(7)}}, {8{PoolW'(63)}}, {3{PoolW'(255)}}, {1{PoolW'(511)}}
  };
  /// Bits of a header and a position, above a phit's data.
  localparam int unsigned HeaderW = 80;
  /// Bits of a place in a message, in words.
  localparam int unsigned PlaceW = 28;

endpackage
