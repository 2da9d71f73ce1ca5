"""What Vivado would know of the top level's cells, by Yosys: instances, registers with their clocks, and each path between
clocks. `check` answers the constraints' questions with it, as no tool of the vendor's is there.

The core has one clock and is a black box here, as the vendor's parts are. A black box's ports belong to the clock that
test/ip.toml names, except those that it calls asynchronous.
"""
import functools
import json
import re
import shutil
import subprocess
from pathlib import Path

STATE = {"$dff", "$dffe", "$sdff", "$sdffe", "$sdffce"}
BUFFERS = {"IBUFDS", "IBUFDS_GTE4", "BUFG"}


class Netlist:
    """Names are Vivado's: instances with `/`, registers with `_reg` behind the name in the source."""

    def __init__(self, yosys, files, includes, boxes, tables, work, top):
        """Reads the sources of all but the core, `boxes` for the vendor's parts, and `tables`, those of test/ip.toml."""
        self.ip = {module: tables["ip"][name] for module, name in boxes["modules"].items()}
        self.ip["core"] = {"clock": "clk_i", "asynchronous": []}
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        # Yosys sees the folder that it is started in.
        for path in [*files, *includes, boxes["path"]]:
            shutil.copy(path, work)
        # The value of a register, which has no clock; Yosys does not read the macro.
        path = work / f"{top}.sv"
        path.write_text(path.read_text().replace("`ALCOR_SHAPE", "32'h0"))
        names = [Path(file).name for file in files if Path(file).name != "core.sv"]
        script = (f"read_verilog -sv -DSYNTHESIS {' '.join(names)}; read_verilog -sv -lib -DSYNTHESIS {Path(boxes['path']).name} core.sv; "
                  f"hierarchy -check -top {top}; proc; opt_clean; write_json hier.json; flatten; opt_dff; memory_collect; opt_clean; write_json flat.json")
        done = subprocess.run([yosys, "-q", "-p", script], capture_output=True, text=True, cwd=work)
        if done.returncode:
            raise RuntimeError(f"yosys: {done.stderr.strip().splitlines()[-1]}")
        self.modules = json.loads((work / "hier.json").read_text())["modules"]
        self.flat = json.loads((work / "flat.json").read_text())["modules"][top]
        self.instances = {}
        self.walk(top, "")
        self.read_flat()

    def walk(self, module, prefix):
        """Collects the instances, and the module of each as the source calls it."""
        for name, cell in self.modules[module]["cells"].items():
            kind = cell["type"]
            if kind.startswith("$") and not kind.startswith("$paramod"):
                continue
            # $paramod$hash\name or $paramod\name\PARAMETER=...
            plain = kind
            if kind.startswith("$paramod"):
                plain = next(part for part in kind.split("\\")[1:] if part)
            self.instances[prefix + name] = plain
            if kind in self.modules and plain not in self.ip:
                self.walk(kind, prefix + name + "/")

    @functools.cache
    def vivado(self, flat):
        """The name of a register: `a.b[0].c.q` is `a/b[0].c/q_reg`, as `b[0].` is a generate block."""
        parts, path, left = flat.split("."), [], ""
        for part in parts[:-1]:
            left = f"{left}.{part}" if left else part
            if "/".join([*path, left]) in self.instances:
                path.append(left)
                left = ""
        last = f"{left}.{parts[-1]}" if left else parts[-1]
        return "/".join([*path, last]) + "_reg"

    def read_flat(self):
        driver, names = {}, {}
        for name, cell in self.flat["cells"].items():
            outputs = {port: bits for port, bits in cell["connections"].items()
                       if cell.get("port_directions", {}).get(port) == "output"}
            for port, bits in outputs.items():
                for index, bit in enumerate(bits):
                    driver[bit] = (name, cell, port, index)
        for port, spec in self.flat["ports"].items():
            if spec["direction"] == "input":
                for bit in spec["bits"]:
                    driver.setdefault(bit, (port, None, None, 0))
        for name, net in self.flat["netnames"].items():
            if not net.get("hide_name") and "$" not in name:
                for index, bit in enumerate(net["bits"]):
                    names.setdefault(bit, []).append((name, index))
        self.driver, self.names = driver, names
        self.inputs, known, outputs = {}, {}, {}

        self.registers, self.clocks, self.crossings, self.ends = {}, {}, [], []
        for name, cell in self.flat["cells"].items():
            kind, wires = cell["type"], cell["connections"]
            if kind in STATE:
                clock = self.clock(wires["CLK"][0])
                for index, bit in enumerate(wires["Q"]):
                    for alias, at in names.get(bit, []):
                        register = self.vivado(alias)
                        self.registers.setdefault(register, set()).add(at)
                        self.clocks[register] = clock
                others = [bit for port, bits in wires.items() if port not in ("CLK", "D", "Q") for bit in bits]
                for d, q in zip(wires["D"], wires["Q"]):
                    here = [self.vivado(alias) for alias, _ in names.get(q, [])]
                    self.ends.append((cell, here, clock, [d, *others]))
            elif kind == "$mem_v2":
                memory = self.vivado(cell["parameters"]["MEMID"].lstrip("\\"))
                clock = self.clock(wires["WR_CLK"][0])
                for port in ("WR_ADDR", "WR_DATA", "WR_EN"):
                    for bit in wires[port]:
                        self.ends.append((cell, [memory], clock, [bit]))
            elif kind in self.ip:
                part = self.ip[kind]
                clock = self.clock(wires[part["clock"]][0])
                for port, bits in wires.items():
                    if cell["port_directions"][port] == "input" and port != part["clock"] and port not in part["asynchronous"]:
                        for bit in bits:
                            self.ends.append((cell, [f"{self.vivado(name)[:-4]}/{port}"], clock, [bit]))

        for _, here, clock, bits in self.ends:
            foreign = [bit for bit in bits if bit in self.driver and self.of(bit, self.start, known, outputs) - {clock}]
            if foreign:
                self.visit(here or ["a register without a name"], clock, foreign)

    def between(self, place):
        """Paths between two places: (startpoint, endpoint, whether logic lies between), each once."""
        where = {}

        def label(cell, port):
            if cell["type"] not in STATE and cell["type"] not in self.ip:
                return None
            if cell["type"] in self.ip and port in (self.ip[cell["type"]]["clock"], *self.ip[cell["type"]]["asynchronous"]):
                return frozenset()
            return frozenset() if where.get(id(cell)) is None else frozenset([where[id(cell)]])

        for cell, names, _, _ in self.ends:
            where[id(cell)] = place(min(names, key=self.likely)) if names else None
        known, outputs, found = {}, {}, set()
        for cell, names, clock, bits in self.ends:
            here = where.get(id(cell))
            if here is None or not names:
                continue
            own = min(names, key=self.likely)
            for bit in bits:
                if bit in self.driver and self.of(bit, label, known, outputs) - {here}:
                    starts, logic = self.starts(bit)
                    found |= {(start, own, logic) for start, _ in starts if place(start) not in (None, here)}
        return sorted(found)

    def clock(self, bit):
        """The pin that drives a clock: of an IP, or a port of the top behind buffers."""
        name, cell, port, _ = self.driver[bit]
        if cell is None:
            return name
        if cell["type"] in self.ip:
            return f"{self.vivado(name)[:-4]}/{port}"
        return self.clock(cell["connections"]["I"][0])

    def of(self, bit, label, known, outputs):
        """Labels of the startpoints of a bit: clocks or places. Each output of a cell is taken to depend on each of its inputs."""
        todo = [bit]
        while todo:
            bit = todo[-1]
            if bit in known:
                todo.pop()
                continue
            _, cell, port, _ = self.driver.get(bit, (None, None, None, None))
            if cell is None:
                known[bit] = frozenset()
            elif (own := label(cell, port)) is not None:
                known[bit] = own
            else:
                key = id(cell)
                inputs = self.inputs.get(key)
                if inputs is None:
                    inputs = self.inputs[key] = {b for b in self.through(cell) if b in self.driver}
                missing = [b for b in inputs if b not in known]
                if missing:
                    todo += missing
                    continue
                if key not in outputs:
                    # A RAM is a startpoint, too, of its writer's clock; no RAM has its writer and its reader in two places.
                    extra = {self.clock(cell["connections"]["WR_CLK"][0])} if cell["type"] == "$mem_v2" and label == self.start else set()
                    outputs[key] = frozenset(extra.union(*(known[b] for b in inputs)))
                known[bit] = outputs[key]
            todo.pop()
        return known[bit]

    def start(self, cell, port):
        """The clocks of a cell at which paths start, or None: paths go through."""
        kind, wires = cell["type"], cell["connections"]
        if kind in STATE:
            return frozenset([self.clock(wires["CLK"][0])])
        if kind in self.ip:
            part = self.ip[kind]
            if port == part["clock"] or port in part["asynchronous"]:
                return frozenset()
            return frozenset([self.clock(wires[part["clock"]][0])])
        return None

    def through(self, cell):
        """The inputs whose value goes to the outputs at once: of a RAM the address, unless it has a register."""
        wires = cell["connections"]
        if cell["type"] == "$mem_v2":
            return [] if "1" in cell["parameters"]["RD_CLK_ENABLE"] else [*wires["RD_ADDR"], *wires["RD_EN"]]
        return [b for p, bits in wires.items() if cell["port_directions"][p] == "input" for b in bits]

    def starts(self, bit):
        """Startpoints of a bit as (name, clock), and whether logic lies between."""
        found, logic, todo, seen = set(), False, [bit], set()
        while todo:
            bit = todo.pop()
            name, cell, port, _ = self.driver.get(bit, (None, None, None, None))
            if cell is None:
                continue
            own = self.start(cell, port)
            if own is not None:
                alias = [self.vivado(a) for a, _ in self.names.get(bit, [])]
                start = f"{self.vivado(name)[:-4]}/{port}" if cell["type"] in self.ip else min(alias, key=self.likely) if alias else name
                found.update((start, clock) for clock in own)
                continue
            if id(cell) in seen:
                continue
            seen.add(id(cell))
            if cell["type"] == "$mem_v2":
                found.add((self.vivado(cell["parameters"]["MEMID"].lstrip("\\")), self.clock(cell["connections"]["WR_CLK"][0])))
            elif cell["type"] not in BUFFERS:
                logic = True
            todo += self.through(cell)
        return found, logic

    def likely(self, register):
        """Of several names of a register, its own is the one that ends in _q, and the deepest."""
        return (not register.endswith("_q_reg"), -register.count("/"), register)

    def visit(self, names, clock, bits):
        """Notes the path to an endpoint from bits of another clock."""
        found, logic = set(), False
        for bit in bits:
            more, between = self.starts(bit)
            found |= more
            logic = logic or between
        own = min(names, key=self.likely)
        self.crossings.append((own, clock, frozenset(s for s in found if s[1] != clock), logic))
