# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the other scripts: packages, and building as the owner of the checkout.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$top"

say() { printf '\n== %s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

need_root() {
    [ "$(id -u)" -eq 0 ] && return
    command -v sudo >/dev/null || die "$0: needs root, and there is no sudo: run it as root"
    exec sudo "$0" "$@"
}

# The packages of one purpose that are not installed yet.
missing_packages() {
    local package
    for package in $(awk -v purpose="$1" '$1 == purpose { $1 = ""; print }' scripts/packages); do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
    done
}

install_packages() {
    local missing
    missing=$(missing_packages "$1" | tr '\n' ' ')
    if [ -z "$missing" ]; then
        say "everything needed to $1 is installed"
        return
    fi
    command -v apt-get >/dev/null || die "missing: $missing(there is no apt-get here: install them by hand)"
    say "installing what is needed to $1: $missing"
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# The page of `export -o run.html`, of npm's packages. An npm that is there is taken, wherever it is from.
make_page() {
    [ ! -e page/page.html ] || return 0
    command -v npm >/dev/null || install_packages page
    say "making the page of export -o run.html"
    as_owner make -s page
}

# Runs a command as the owner of the checkout, so that no file in it becomes root's.
as_owner() {
    local owner
    owner=$(stat -c %U "$top")
    if [ "$(id -u)" -ne 0 ] || [ "$owner" = root ] || [ "$owner" = UNKNOWN ]; then
        "$@"
    else
        runuser -u "$owner" -- "$@"
    fi
}
