"""Builds `core` for cocotb, unless that is done, and plays the host library's calls to it.

    run.py MODELS JOB RESULT

MODELS is the folder of finished models; JOB the file that `alcor bench sim` has written: sources of `core` and folders of
includes, parameters of rival_top.sv, bytes of the completion ring, calls of each rank; RESULT the one that cycles and seconds are written to. Verilator is the one in PATH.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import Verilator

HERE = Path(__file__).resolve().parent
TOP = "rival_top"
# As the library's model is built.
VERILATOR = ["-O3", "--assert", "--x-initial", "unique", "--threads", "1", "-CFLAGS", "-O2"]
# The wheel's makefile does not say how a compiler takes a precompiled header.
MAKEFLAGS = "CFG_CXXFLAGS_PCH_I=-include"


class PortsOnly(Verilator):
    """cocotb's runner, but that only the ports of the top module are visible in the model (rival.vlt), and not every signal."""

    def _build_command(self):
        return [[word for word in command if word != "--public-flat-rw"] for command in super()._build_command()]


def key(files, includes, parameters):
    digest = hashlib.sha256()
    verilator = subprocess.run(["verilator", "--version"], capture_output=True, check=True).stdout
    included = [path for folder in includes for path in sorted(folder.glob("*.svh"))]
    parts = [verilator, version("cocotb").encode(), json.dumps([VERILATOR, parameters], sort_keys=True).encode()]
    for part in parts + [path.read_bytes() for path in [*files, *included]]:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:32]


def build(runner, models, job):
    files = [HERE / "rival.vlt", *map(Path, job["sources"]), HERE / "rival_top.sv"]
    includes, parameters = list(map(Path, job["includes"])), job["parameters"]
    folder = models / f"rival-{key(files, includes, parameters)}"
    if folder.is_dir():
        return folder
    print("cocotb's model: building, a minute or more", file=sys.stderr)
    models.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=models, prefix="building-") as work:
        target = Path(work) / "model"
        log = Path(work) / "log"
        os.environ["MAKEFLAGS"] = MAKEFLAGS
        try:
            runner.build(
                sources=files,
                includes=includes,
                parameters=parameters,
                build_args=VERILATOR,
                hdl_toplevel=TOP,
                build_dir=target,
                log_file=log,
            )
        except RuntimeError:
            print(log.read_text()[-4000:], file=sys.stderr)
            raise
        # Whoever else built it at the same time built the same.
        with contextlib.suppress(OSError):
            target.rename(folder)
    return folder


def main(models, job, result):
    job = Path(job).resolve()
    runner = PortsOnly()
    folder = build(runner, Path(models).resolve(), json.loads(job.read_text()))
    # Its own files go beside the result.
    work = Path(result).resolve().parent / "cocotb"
    shutil.rmtree(work, ignore_errors=True)
    results = runner.test(
        test_module="replay",
        hdl_toplevel=TOP,
        hdl_toplevel_lang="verilog",
        build_dir=folder,
        test_dir=work,
        results_xml=str(work / "results.xml"),
        log_file=work / "log",
        extra_env={
            "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
            "RIVAL_JOB": str(job),
            "RIVAL_RESULT": str(Path(result).resolve()),
        },
    )
    tests, failures = get_results(results)
    if tests != 1 or failures:
        print((work / "log").read_text()[-4000:], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
