# SPDX-License-Identifier: BSD-2-Clause
"""The Debian package: clean for lintian, and installed, used, upgraded, removed and purged in a fresh Debian of its
own."""
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.request

import pytest

import gaspbpf
from debian import dependencies, inside, make_package, output, start_nothing, unpack


@pytest.fixture(scope="module")
def package():
    return make_package()


@pytest.fixture
def chroot(package, tmp_path):
    """A fresh Debian with what the package depends on, and no more."""
    root = tmp_path / "root"
    unpack(root, dependencies(package))
    start_nothing(root)
    for folder in ("proc", "sys", "dev"):
        output("mount", "--rbind", f"/{folder}", root / folder)
        output("mount", "--make-rslave", root / folder)
    yield root
    for folder in ("proc", "sys", "dev"):
        subprocess.run(["umount", "-l", str(root / folder)], timeout=60)
    assert not any((root / folder).is_mount() for folder in ("proc", "sys", "dev"))
    shutil.rmtree(root)


def with_version(package, version, change, folder):
    """The same package as a later version."""
    tree = folder / version
    output("dpkg-deb", "-R", package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*", f"Version: {version}", control.read_text()))
    change(tree)
    return output("dpkg-deb", "--root-owner-group", "-b", tree, folder / f"{version}.deb") and folder / f"{version}.deb"


def files_of(root):
    """What is there, but for what dpkg itself keeps."""
    out = output("find", root, "-xdev", "-not", "-type", "d", "-printf", "%P\n").splitlines()
    return {name for name in out if not name.startswith(("var/lib/dpkg/", "var/log/", "var/cache/", "policy"))}


def scrape(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return answer.read().decode()
    except OSError:
        return None


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def start(root, unit):
    """What systemd would do with the unit: its command, as another user, with its capabilities."""
    command = re.search(r"(?m)^ExecStart=(.*)", unit)[1].split()
    rights = re.search(r"(?m)^AmbientCapabilities=(.*)", unit)[1].lower().replace("cap_", "+").replace(" ", ",")
    return subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                             f"--inh-caps=-all,{rights}",
                             f"--ambient-caps=-all,{rights}", f"--bounding-set=-all,{rights}", *command],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            preexec_fn=lambda: os.chroot(root), cwd="/")


def test_lintian_has_nothing_to_say(package):
    assert not [line for line in output("lintian", "--fail-on", "error,warning", package).splitlines()
                if line[:2] in ("E:", "W:")]


@pytest.mark.elsewhere
def test_its_whole_life(package, chroot, tmp_path):
    before = files_of(chroot)
    shutil.copy(package, chroot / "first.deb")
    inside(chroot, "dpkg", "-i", "/first.deb")
    assert "install ok installed" in inside(chroot, "dpkg-query", "-W", "-f", "${Status}", "gaspbpf")
    assert "gaspbpf.service" in (chroot / "policy").read_text()  # it would have been started
    assert (chroot / "etc/systemd/system/multi-user.target.wants/gaspbpf.service").is_symlink()
    for program in ("/usr/bin/gaspbpf", "/usr/libexec/gaspbpf/gaspbpf-toolhost"):
        assert "not found" not in inside(chroot, "ldd", program)  # what it depends on is all that it needs
    assert re.fullmatch(r"gaspbpf [\d.]+\n", inside(chroot, "gaspbpf", "--version"))
    assert "GASP_MPI" in inside(chroot, "gaspbpf", "list", "--known")  # its models are found

    port = free_port()
    options = chroot / "etc/gaspbpf.conf"
    mine = options.read_text().replace("\nall\n",
                                       "\ncomm no-such-program\n").replace("127.0.0.1:9464", f"127.0.0.1:{port}")
    options.write_text(mine)
    service = start(chroot, (chroot / "lib/systemd/system/gaspbpf.service").read_text())
    try:
        def answers():
            assert service.poll() is None, service.stdout.read().decode()
            return scrape(port)
        assert "gaspbpf_build_info{version=" in gaspbpf.wait_for(answers, "the service to answer")
        service.send_signal(signal.SIGTERM)
        assert service.wait(timeout=gaspbpf.PATIENCE) == 0
    finally:
        service.kill()
        service.wait()

    later = with_version(package, "0.1+later",
                         lambda tree: (tree / "etc/gaspbpf.conf").write_text("# new\nall\n"), tmp_path)
    shutil.copy(later, chroot / "second.deb")
    inside(chroot, "dpkg", "--force-confdef", "--force-confold", "-i", "/second.deb")
    assert inside(chroot, "dpkg-query", "-W", "-f", "${Version}", "gaspbpf") == "0.1+later"
    assert options.read_text() == mine  # the administrator's own
    assert (chroot / "etc/gaspbpf.conf.dpkg-dist").read_text() == "# new\nall\n"

    inside(chroot, "dpkg", "-r", "gaspbpf")
    assert options.read_text() == mine and not (chroot / "usr/bin/gaspbpf").exists()
    (chroot / "var/lib/private/gaspbpf").mkdir(parents=True)
    (chroot / "var/lib/private/gaspbpf/flight.gasp").write_text("")
    inside(chroot, "dpkg", "-P", "gaspbpf")
    assert files_of(chroot) - before == {"first.deb", "second.deb"}
    assert before - files_of(chroot) == set()
