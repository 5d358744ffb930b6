"""What the figures were measured on."""

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path


def facts(packages: Iterable[str]) -> dict[str, str]:
    """Names and values, in the order to print, with the releases of these packages."""
    return {
        "processor": _first("/proc/cpuinfo", "model name") or platform.processor() or "unknown",
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "kernel": f"{platform.system()} {platform.release()}",
        "load at the start": " ".join(f"{load:.2f}" for load in os.getloadavg()),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
        "rustc": _rustc(),
    }


def release(package: str) -> str:
    """The name of a package with its release."""
    return f"{package} {version(package)}"


def _first(path: str, key: str) -> str | None:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), None)


def _memory() -> str:
    total = _first("/proc/meminfo", "MemTotal")
    return f"{int(total.split()[0]) / 2**20:.1f} GiB" if total else "unknown"


def _rustc() -> str:
    try:
        done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
