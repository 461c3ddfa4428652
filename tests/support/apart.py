# SPDX-License-Identifier: BSD-2-Clause
"""Commands in a mount namespace with copies of the libraries that everything maps: probes that are put into those act
on nobody else, and nobody else's act on them."""
import pathlib
import shutil

FOLDER = pathlib.Path("/usr/lib/x86_64-linux-gnu")
LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libstdc++.so.6", "libgcc_s.so.1", "libz.so.1", "libdl.so.2")


def command(folder, words):
    """These words, to be run with libraries of their own; the copies stay in the folder."""
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    mounts = []
    for name in LIBRARIES:
        path = FOLDER / name
        if path.exists():
            if not (folder / name).exists():
                shutil.copyfile(path.resolve(), folder / name)
                (folder / name).chmod(0o755)
            mounts.append(f"mount --bind {folder / name} {path.resolve()}")
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh",
            *map(str, words)]
