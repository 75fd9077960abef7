# SPDX-License-Identifier: GPL-2.0
"""Exit codes, and the one exception that is meant for the user's eyes."""

PASS = 0
FAIL = 1
BUILD_FAILED = 2
BOOT_FAILED = 3
SKIP = 4
MISS = 128


class UserError(Exception):
    """Something the user can understand and mend: printed as one message."""

    def __init__(self, message, code=MISS):
        super().__init__(message)
        self.code = code
