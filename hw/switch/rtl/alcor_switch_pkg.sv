/// Types and constants of the collective switch's blocks.
package alcor_switch_pkg;

  /// Rows of the communicator table.
  localparam int unsigned Contexts = 32;
  /// The row of the barrier over all boards.
  localparam int unsigned SyncContext = Contexts - 1;
  /// Phits of a communicator's window: the same for every row, so any row streams a phit per cycle.
  localparam int unsigned Window = 512;

endpackage
