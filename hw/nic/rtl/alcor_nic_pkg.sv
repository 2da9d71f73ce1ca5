/// What the blocks of two-sided messages share.
package alcor_nic_pkg;
  /// Operations of a match queue.
  typedef enum logic [1:0] {
    MoSearch = 2'd0,  // find the first entry that matches, and take it out
    MoProbe  = 2'd1,  // find the first entry that matches
    MoAppend = 2'd2,  // put an entry at the end
    MoRemove = 2'd3   // take out an entry by its number
  } match_op_e;

  /// What the host asks of a rank's message engine.
  typedef enum logic [1:0] {
    McReceive = 2'd0,  // post a receive
    McProbe   = 2'd1,  // look for an unexpected message
    McCancel  = 2'd2,  // take back a posted receive
    McFlush   = 2'd3   // drop all messages that wait; of a rank that is being reset
  } message_command_e;

  /// What becomes of the payload of a message that arrives.
  typedef enum logic [1:0] {
    MvNone   = 2'd0,  // nothing: there is none, or nobody wants it
    MvStore  = 2'd1,  // into its fragment of the unexpected message buffer
    MvDirect = 2'd2,  // into the receive buffer
    MvRefuse = 2'd3   // nothing, and the sender is told: there is no room
  } message_verdict_e;

  /// Who is told that a write to memory is done.
  typedef enum logic [1:0] {
    NkCommand   = 2'd0,  // who gave the command: by an acknowledgement, or in the completion ring
    NkStored    = 2'd1,  // the message engine: a payload lies in its fragment
    NkDelivered = 2'd2   // the message engine: a payload lies in the receive buffer
  } note_kind_e;
endpackage
