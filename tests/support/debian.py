# SPDX-License-Identifier: BSD-2-Clause
"""A fresh Debian with what the package depends on, for tests to install it in."""
import os
import pathlib
import re
import subprocess
import zlib

import gaspbpf


def output(*command, **keywords):
    result = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", timeout=900, **keywords)
    assert result.returncode == 0, f"{command}: {result.stdout}"
    return result.stdout


def make_package():
    output("make", "-s", "deb", cwd=gaspbpf.TOP)
    (found,) = (gaspbpf.TOP / "build").glob("gaspbpf_*_amd64.deb")
    return found


def field(package, name):
    return output("dpkg-deb", "-f", package, name).strip()


def dependencies(package):
    """The names of what it depends on: all that the fresh system has of it beside Debian's base."""
    return [re.match(r"[a-z0-9.+-]+", item.strip())[0] for item in field(package, "Depends").split(",")]


def own_suite():
    return next(line for line in pathlib.Path("/etc/os-release").read_text().splitlines()
                if line.startswith("VERSION_CODENAME=")).split("=")[1]


def site():
    """The mirror that this machine has its own packages from."""
    return output("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages",
                  "Codename: " + own_suite()).split()[0]


def package(name):
    """A folder with what a package of this machine's own sources has, which need not be installed. Fetched once and
    kept. None: it cannot be had."""
    root = gaspbpf.TOP / "build" / f"package-{name}"
    if root.exists():
        return root
    partial = root.with_name(f"{root.name}-{os.getpid()}")
    partial.mkdir()
    try:
        output("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", name, cwd=partial)
        for archive in partial.glob("*.deb"):
            output("dpkg-deb", "-x", archive, partial)
            archive.unlink()
        partial.rename(root)
    except (AssertionError, OSError, subprocess.TimeoutExpired):  # or another test was quicker
        output("rm", "-r", partial)
    return root if root.exists() else None


def libraries_of(suite, library, headers):
    """A folder with a library of another Debian, all that it needs, and the packages of headers. Fetched once, in some
    seconds, and kept.

    Programs of the test's own run there without a chroot: see build_there().
    """
    root = gaspbpf.TOP / "build" / f"debian-{suite}-{library}"
    if not root.exists():
        partial = root.with_name(f"debian-{suite}-{os.getpid()}")
        fetch = (f'cd "$1" && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -q download {" ".join(headers)} && for package '
                 'in *.deb; do dpkg-deb -x $package .; done && '
                 "rm -r *.deb usr/share usr/lib/*/gconv usr/lib/*/*.a")
        output("mmdebstrap", "-q", "--variant=extract", "--include=" + library, "--extract-hook=" + fetch, suite,
               partial, site())
        try:
            partial.rename(root)
        except OSError:  # another test was quicker
            output("rm", "-r", partial)
    return root


def build_there(root, program, *arguments):
    """Compiles a program that runs with the dynamic linker and the libraries of that folder, its libc included."""
    (libraries,) = (root / "usr/lib").glob("*-linux-gnu")
    (linker,) = libraries.glob("ld-linux*.so.*")
    output("cc", "-g", "-O1", "-D_GNU_SOURCE", "-w", "-o", program, *arguments, "-idirafter", root / "usr/include",
           f"-L{libraries}", "-Wl,--allow-shlib-undefined",
           "-Wl,--disable-new-dtags", f"-Wl,-rpath,{libraries}", f"-Wl,--dynamic-linker={linker}")


def package_of(suite, package):
    """(a folder with what a package of another Debian has, its version). None where that cannot be fetched.

    By apt with a list of its own: the machine's is left alone. A mirror may be behind, so no Release file is too old.
    """
    root = gaspbpf.TOP / "build" / f"debian-{suite}-{package}"
    if not root.exists():
        partial = root.with_name(f"debian-{suite}-{os.getpid()}")
        (partial / "lists" / "partial").mkdir(parents=True)
        (partial / "sources.list").write_text("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
                                              f"{site()} {suite} main\n")
        options = {"Dir::Etc::sourcelist": partial / "sources.list", "Dir::Etc::sourceparts": "-",
                   "Dir::State::lists": partial / "lists", "Dir::Cache": partial, "APT::Get::List-Cleanup": 0,
                   "APT::Sandbox::User": "root", "Acquire::Check-Valid-Until": "false", "Acquire::Languages": "none"}
        apt = ["apt-get", "-qq", *[word for name, value in options.items() for word in ("-o", f"{name}={value}")]]
        try:
            for words in (["update"], ["download", package]):
                subprocess.run([*apt, *words], cwd=partial, check=True, timeout=300, capture_output=True)
            (archive,) = partial.glob("*.deb")
            output("dpkg-deb", "-x", archive, partial / "root")
            (partial / "root" / "version").write_text(field(archive, "Version"))
            (partial / "root").rename(root)
        except (subprocess.SubprocessError, OSError):  # or another test was quicker
            pass
        finally:
            output("rm", "-r", partial)
    return (root, (root / "version").read_text()) if root.exists() else None


def unpack(root, packages):
    """A system with these packages and those they need, in the folder root. What it starts from is fetched once and
    kept."""
    needed = sorted(packages)
    base = gaspbpf.TOP / "build" / f"debian-{zlib.crc32(' '.join(needed).encode()):08x}.tar"
    if not base.exists():
        partial = base.with_name(f"debian-{os.getpid()}.tar")
        output("mmdebstrap", "-q", "--variant=apt", "--include=" + ",".join(needed), own_suite(), partial, site())
        partial.rename(base)
    root.mkdir()
    output("tar", "-C", root, "-xf", base, "--exclude=./dev/*")


def start_nothing(root):
    """There is no systemd to start services there; what would have been started is in /policy. The package's scripts
    look for the folder."""
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\necho \"$@\" >>/policy\nexit 101\n")
    policy.chmod(0o755)
    (root / "run/systemd/system").mkdir(parents=True)


def inside(root, *command):
    return output("chroot", root, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
                  "LC_ALL=C", *command)
