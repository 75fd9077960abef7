# SPDX-License-Identifier: GPL-2.0
"""What the memtb command is made of."""
