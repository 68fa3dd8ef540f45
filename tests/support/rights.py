"""The rights of root, given up: root writes to read-only files, so that nothing could be shown with them."""

from __future__ import annotations

import ctypes
import os
import traceback
from collections.abc import Callable


class _Head(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Rights(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def give_up_rights() -> None:
    """This process and its children write only where the mode of a file allows it."""
    if os.geteuid():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    head, rights = _Head(0x20080522, 0), (_Rights * 2)()
    libc.capget(ctypes.byref(head), rights)
    for number in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
        libc.prctl(24, number, 0, 0, 0)  # PR_CAPBSET_DROP
        rights[0].effective &= ~(1 << number)
        rights[0].permitted &= ~(1 << number)
    if libc.capset(ctypes.byref(head), rights):
        raise OSError(ctypes.get_errno(), "the rights of root could not be given up")


def in_a_fork_without_rights(do: Callable[[], object]) -> None:
    """Do something in a process of its own that has given up root's rights; an exception there is one here."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            give_up_rights()
            do()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "it failed in the fork"
