"""The kernels of the int8 prefilter against their definition: a C++ program for each, run here or under emulation."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "src/kfree/native"
AVX512 = "-mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
X86_FLAGS = {
    "avx2": "-mavx2 -mfma",
    "avxvnni": "-mavx2 -mfma -mavxvnni",
    "avx512": AVX512,
    "avx512vnni": AVX512 + " -mavx512vnni",
}
# Flag that /proc/cpuinfo shows where the kernel runs.
CPU_FLAGS = {"avx2": "avx2", "avxvnni": "avx_vnni", "avx512": "avx512bw", "avx512vnni": "avx512_vnni"}
ON_ARM, ON_X86 = (platform.machine() in names for names in (("aarch64", "arm64"), ("x86_64", "AMD64")))


def compiled(compiler, source, name, flags, folder):
    """The program that checks the kernel int8_<name>."""
    program = folder / name
    defined = [f"-DKFREE_INT8_KERNEL=int8_{name}"]
    defined += [f"-DKFREE_{part}" for part in ("DOTPROD", "X86", "AVXVNNI", "AVX512VNNI")]
    options = ["-std=c++20", "-O2", "-Wno-psabi", "-ffp-contract=fast", "-ffinite-math-only", f"-I{NATIVE}", *defined]
    objects = []
    # Only the kernel is compiled for its instruction set: what surrounds it must run before the kernel does.
    for file, extra in ((NATIVE / source, flags.split()), (HERE / "int8_kernels.cpp", [])):
        objects.append(folder / f"{name}_{file.stem}.o")
        subprocess.run([*compiler, *options, *extra, "-c", file, "-o", objects[-1]], check=True)
    subprocess.run([*compiler, *objects, "-o", program], check=True)
    return program


def verdict(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout.strip()


native_compiler = shutil.which(os.environ.get("CXX", "c++"))
cross_compiler = native_compiler if ON_X86 else shutil.which("x86_64-linux-gnu-g++")
emulator = shutil.which("qemu-x86_64")
RIGHT = (0, "every number is right")


@pytest.mark.skipif(not (ON_ARM and native_compiler), reason="needs 64-bit ARM and a compiler")
def test_dotprod(tmp_path):
    flags = "-march=armv8.2-a+dotprod"
    program = compiled([native_compiler], "assign/int8/kernel_dotprod.cpp", "dotprod", flags, tmp_path)
    assert verdict(program) == RIGHT


@pytest.mark.skipif(not cross_compiler, reason="needs a compiler for x86-64: Debian's g++-x86-64-linux-gnu")
@pytest.mark.parametrize("name", X86_FLAGS)
def test_x86(name, tmp_path):
    program = compiled([cross_compiler], "assign/int8/kernel_x86.cpp", name, X86_FLAGS[name], tmp_path)
    if ON_X86 and CPU_FLAGS[name] in Path("/proc/cpuinfo").read_text().split():
        assert verdict(program) == RIGHT
    elif name == "avx2" and emulator and not ON_X86:  # the emulator knows nothing wider
        assert verdict(emulator, "-cpu", "max", "-L", "/usr/x86_64-linux-gnu", program) == RIGHT
    else:
        pytest.skip("compiled; no processor here runs it")
