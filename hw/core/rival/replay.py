"""Asks of `core` what the host library asked of its board, through cocotbext-axi.

Runs inside the simulator, under cocotb; `run.py` builds the model and starts it. A rank is a coroutine that goes through
the calls of its port in their order, each of which it waits for, as most benches do.
"""

import json
import logging
import os
import time
from importlib.metadata import version

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, ValueChange, with_timeout
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiMaster

PERIOD_NS = 4
# Looks at a register that is to become what the library saw, before it is given up.
LOOKS = 10_000
# From one look to the next, as in the library's simulation.
POLL_CYCLES = 16
# What a wait for an interrupt is given up after, as by the library.
WATCHDOG_CYCLES = 2_000_000


def is_there(abi, offset, found, seen):
    """Whether the board has come as far as it had when the library looked."""
    # Their values may be ahead of what the library saw, as more time passes between two calls here.
    if offset in abi["counters"]:
        return (found - seen) & 0xFFFFFFFF < 0x80000000
    if offset == abi["causes"]:
        return found & seen == seen
    return found == seen


class Rank:
    def __init__(self, dut, lite, dma, rank, job):
        self.dut, self.lite, self.dma = dut, lite, dma
        self.rank, self.calls = rank, job["calls"][rank]
        self.abi = job["abi"]
        self.page = (1 + rank) * self.abi["page_bytes"]
        self.memory = rank * job["parameters"]["NODE_BYTES"]
        self.ring_bytes = job["ring_bytes"]

    async def run(self):
        for call in self.calls:
            if call == "irq":
                await self.irq()
                continue
            ((what, (at, value)),) = call.items()
            if what == "write":
                await self.lite.write(self.page + at, value.to_bytes(4, "little"))
            elif what == "read":
                await self.look(self.page, at, value)
            elif what == "board":
                await self.look(0, at, value)
            elif what == "store":
                await self.dma.write(self.memory + at, bytes.fromhex(value), awid=0)
            elif what == "load":
                await self.load(at, bytes.fromhex(value))
        events = await self.read(self.page + self.abi["events"])
        assert events == 0, f"rank {self.rank}: EVENTS is {events:#x}: what was written is not what the library wrote"

    async def irq(self):
        irq = self.dut.irq_o
        # It falls a cycle after the write that it falls by.
        await ClockCycles(self.dut.clk_i, 2)
        while not (int(irq.value) >> self.rank) & 1:
            await with_timeout(ValueChange(irq), WATCHDOG_CYCLES * PERIOD_NS, "ns")

    async def read(self, address):
        return int.from_bytes((await self.lite.read(address, 4)).data, "little")

    async def look(self, page, offset, seen):
        for _ in range(LOOKS):
            found = await self.read(page + offset)
            if is_there(self.abi, offset, found, seen):
                return
            await ClockCycles(self.dut.clk_i, POLL_CYCLES)
        raise AssertionError(
            f"rank {self.rank}: the register at {page + offset:#x} is {found:#x}, and does not become {seen:#x}"
        )

    async def load(self, at, seen):
        found = bytes((await self.dma.read(self.memory + at, len(seen), arid=0)).data)
        # The completion ring names commands in the order in which they ended, which is one of time.
        if at >= self.ring_bytes:
            assert found == seen, f"rank {self.rank}: node memory at {at:#x} is not what the library found there"


@cocotb.test()
async def replay(dut):
    for name in ("lite", "dma"):
        logging.getLogger(f"cocotb.rival_top.{name}").setLevel(logging.WARNING)
    with open(os.environ["RIVAL_JOB"], encoding="utf-8") as file:
        job = json.load(file)
    Clock(dut.clk_i, PERIOD_NS, unit="ns").start()
    dut.rst_ni.value = 0
    lite = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "lite"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    dma = AxiMaster(AxiBus.from_prefix(dut, "dma"), dut.clk_i, dut.rst_ni, reset_active_level=False)
    await ClockCycles(dut.clk_i, 10)
    dut.rst_ni.value = 1
    # The rest of the reset, which is no part of what is measured.
    await ClockCycles(dut.clk_i, 100)
    await RisingEdge(dut.clk_i)

    began, cycle = time.perf_counter(), get_sim_time("ns")
    ranks = [Rank(dut, lite, dma, rank, job) for rank in range(len(job["calls"]))]
    tasks = [cocotb.start_soon(rank.run()) for rank in ranks]
    for task in tasks:
        await task
    seconds = time.perf_counter() - began
    cycles = round((get_sim_time("ns") - cycle) / PERIOD_NS)

    with open(os.environ["RIVAL_RESULT"], "w", encoding="utf-8") as file:
        versions = f"cocotb {version('cocotb')}, cocotbext-axi {version('cocotbext-axi')}"
        json.dump({"cycles": cycles, "seconds": seconds, "versions": versions}, file)
