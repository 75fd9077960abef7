# SPDX-License-Identifier: GPL-2.0
"""Where things are in the checkout."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPTS = CHECKOUT / "scripts"
QEMU = CHECKOUT / "qemu"
RESULTS = CHECKOUT / "results"
