"""The kernels of the int8 prefilter against their definition: a C++ program for each.

A kernel that this processor does not run is checked with SIMDe, a library that does the work of each instruction, where
that is installed (Debian's libsimde-dev); the one for AVX2 also as it is compiled, under user-mode emulation.
"""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Mutants are in a copy of the sources.
NATIVE = Path(os.environ.get("KFREE_SOURCES", HERE.parents[1] / "src")) / "kfree/native"
AVX512 = "-mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
X86_FLAGS = {
    "avx2": "-mavx2 -mfma",
    "avxvnni": "-mavx2 -mfma -mavxvnni",
    "avx512": AVX512,
    "avx512vnni": AVX512 + " -mavx512vnni",
    "amx": AVX512 + " -mavx512vnni -mamx-tile -mamx-int8",
}
# Flag that /proc/cpuinfo shows where the kernel runs.
CPU_FLAGS = {
    "avx2": "avx2",
    "avxvnni": "avx_vnni",
    "avx512": "avx512bw",
    "avx512vnni": "avx512_vnni",
    "amx": "amx_int8",
}
ON_ARM, ON_X86 = (platform.machine() in names for names in (("aarch64", "arm64"), ("x86_64", "AMD64")))


# What the compiler would define; under SIMDe nobody does.
MACROS = {
    "avx2": [],
    "avxvnni": ["__AVXVNNI__"],
    "avx512": ["__AVX512BW__"],
    "avx512vnni": ["__AVX512BW__", "__AVX512VNNI__"],
}
RIGHT = (0, "every number is right")


def compiled(compiler, name, folder, kernel_options, options=()):
    """The program that checks the kernel int8_<name>."""
    defined = [f"-DKFREE_{part}" for part in ("DOTPROD", "X86", "AVXVNNI", "AVX512VNNI", "AMX")]
    objects = []

    def compile_one(file, of, extra):
        objects.append(folder / f"{len(objects)}.o")
        common = [compiler, "-std=c++20", f"-I{NATIVE}", f"-DKFREE_INT8_KERNEL=int8_{of}", *defined, *options]
        subprocess.run([*common, *extra, "-c", file, "-o", objects[-1]], check=True)

    source = NATIVE / "assign/int8" / ("kernel_dotprod.cpp" if name == "dotprod" else "kernel_x86.cpp")
    # Only kernels are compiled for their instruction set: what surrounds them must run anywhere.
    compile_one(HERE / "int8_kernels.cpp", name, [])
    compile_one(source, name, kernel_options)
    if name == "amx":  # names this one for rows of few columns
        compile_one(source, "avx512vnni", X86_FLAGS["avx512vnni"].split())
    program = folder / name
    subprocess.run([compiler, *objects, "-o", program], check=True)
    return program


def verdict(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout.strip()


def runs_here(name):
    return ON_X86 and CPU_FLAGS[name] in Path("/proc/cpuinfo").read_text().split()


native_compiler = shutil.which(os.environ.get("CXX", "c++"))
cross_compiler = native_compiler if ON_X86 else shutil.which("x86_64-linux-gnu-g++")
emulator = shutil.which("qemu-x86_64")
simde = Path("/usr/include/simde").exists()


@pytest.mark.skipif(not (ON_ARM and native_compiler), reason="needs 64-bit ARM and a compiler")
def test_dotprod(tmp_path):
    program = compiled(native_compiler, "dotprod", tmp_path, ["-march=armv8.2-a+dotprod"], ["-O1"])
    assert verdict(program) == RIGHT


@pytest.mark.skipif(not cross_compiler, reason="needs a compiler for x86-64: Debian's g++-x86-64-linux-gnu")
@pytest.mark.parametrize("name", X86_FLAGS)
def test_x86(name, tmp_path):
    program = compiled(cross_compiler, name, tmp_path, X86_FLAGS[name].split(), ["-O1"])
    if runs_here(name):
        assert verdict(program) == RIGHT
    elif name == "avx2" and emulator and not ON_X86:  # the emulator knows nothing wider
        assert verdict(emulator, "-cpu", "max", "-L", "/usr/x86_64-linux-gnu", program) == RIGHT
    else:
        pytest.skip("compiled; no processor here runs it")


@pytest.mark.skipif(not (native_compiler and simde), reason="needs a compiler and SIMDe: Debian's libsimde-dev")
@pytest.mark.parametrize("name", MACROS)
def test_x86_by_simde(name, tmp_path):
    if ON_X86:
        pytest.skip("SIMDe would use the instructions of this processor")
    macros = [f"-D{macro}" for macro in MACROS[name]]
    program = compiled(native_compiler, name, tmp_path, [*macros, f"-I{HERE / 'simde'}", "-O0", "-w"])
    assert verdict(program) == RIGHT
