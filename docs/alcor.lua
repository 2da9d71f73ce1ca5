-- Wireshark dissector of Alcor's packet logs (LINKTYPE_USER0); the records are described in timeline.md.
local alcor = Proto("alcor", "Alcor")
local types = {[0] = "MESSAGE", "PUT_1", "PUT_N", "GET", "XPUT", "XGET", "XDATA", "XACK"}
local f = {
  version = ProtoField.uint8("alcor.version", "Version"),
  flags = ProtoField.uint8("alcor.flags", "Flags", base.HEX),
  received = ProtoField.bool("alcor.received", "Received", 8, nil, 1),
  reply = ProtoField.bool("alcor.reply", "Reply plane", 8, nil, 2),
  link = ProtoField.bool("alcor.link", "On a link", 8, nil, 4),
  cut = ProtoField.bool("alcor.cut", "End not seen", 8, nil, 8),
  channel = ProtoField.uint8("alcor.channel", "Virtual channel"),
  board = ProtoField.uint16("alcor.board", "Board"),
  number = ProtoField.uint16("alcor.number", "Rank or port"),
  cycle = ProtoField.uint64("alcor.cycle", "Cycle"),
  cycles = ProtoField.uint32("alcor.cycles", "Cycles"),
  run = ProtoField.uint32("alcor.run", "Run"),
  ptype = ProtoField.uint32("alcor.type", "Type", base.DEC, types, 0x00e00000),
  dpid = ProtoField.uint32("alcor.dpid", "Destination rank", base.DEC, nil, 0xff000000),
  src = ProtoField.uint32("alcor.src", "Source rank", base.DEC, nil, 0x0000ff00),
  offset = ProtoField.uint32("alcor.offset", "Byte offset or address", base.HEX),
  length = ProtoField.uint32("alcor.length", "Bytes left"),
  id = ProtoField.uint32("alcor.id", "Command id"),
  status = ProtoField.uint32("alcor.status", "Status", base.DEC, nil, 0x001f0000),
  words = ProtoField.bytes("alcor.words", "Words"),
}
alcor.fields = f

function alcor.dissector(buffer, pinfo, root)
  if buffer:len() < 24 or buffer(0, 1):uint() ~= 1 then return 0 end
  local tree = root:add(alcor, buffer())
  local flags, channel = buffer(2, 1):uint(), buffer(3, 1):uint()
  tree:add(f.version, buffer(0, 1))
  local bits = tree:add(f.flags, buffer(2, 1))
  for _, bit in ipairs({f.received, f.reply, f.link, f.cut}) do bits:add(bit, buffer(2, 1)) end
  tree:add(f.channel, buffer(3, 1))
  tree:add_le(f.board, buffer(4, 2))
  tree:add_le(f.number, buffer(6, 2))
  tree:add_le(f.cycle, buffer(8, 8))
  tree:add_le(f.cycles, buffer(16, 4))
  tree:add_le(f.run, buffer(20, 4))
  local at = buffer(1, 1):uint()
  local count = (buffer:len() - at) / 4
  local is_link = math.floor(flags / 4) % 2 == 1
  pinfo.cols.protocol = "Alcor"
  pinfo.cols.src = (is_link and "link " or "rank ") .. buffer(6, 2):le_uint() .. " of board " .. buffer(4, 2):le_uint()
  if count >= 1 and channel < 4 then
    local first = buffer(at, 4):le_uint()
    local kind = math.floor(first / 2 ^ 21) % 8
    local is_last = math.floor(first / 2 ^ 20) % 2 == 1
    tree:add_le(f.ptype, buffer(at, 4))
    tree:add_le(f.dpid, buffer(at, 4))
    pinfo.cols.dst = "rank " .. math.floor(first / 2 ^ 24)
    pinfo.cols.info = types[kind] .. (flags % 2 == 1 and " received" or " sent")
    if kind == 0 or kind == 4 or kind == 5 then tree:add_le(f.src, buffer(at, 4)) end
    if kind >= 4 and kind <= 6 and count >= 3 then
      tree:add_le(f.offset, buffer(at + 4, 4))
      tree:add_le(is_last and f.id or f.length, buffer(at + 8, 4), is_last and buffer(at + 10, 2):le_uint() or nil)
    elseif kind == 7 then
      tree:add_le(f.status, buffer(at, 4))
      -- A refusal for lack of room has a number of sources above the id.
      local is_refusal = math.floor(first / 2 ^ 16) % 32 == 18 and first % 2 ^ 16 < 2 ^ 15
      tree:add_le(f.id, buffer(at, 4), buffer(at, 2):le_uint() % (is_refusal and 2 ^ 10 or 2 ^ 16))
    end
  elseif count >= 1 then
    pinfo.cols.info = "phit of a collective"
  end
  tree:add(f.words, buffer(at))
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, alcor)
