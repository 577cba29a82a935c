# shellcheck shell=bash
# Sourced by the other scripts: finds a Python, makes .venv and installs ketgrad into it, each only
# where needed. Sets ROOT, VENV and PYTHON, and goes to ROOT.

ROOT=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv
PYTHON=$VENV/bin/python
STAMP=$VENV/ketgrad-installed
cd "$ROOT"

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_QUIET=2 PIP_ROOT_USER_ACTION=ignore
# Compiled kernels belong to the environment: all processes of a run share them.
export NUMBA_CACHE_DIR=$VENV/numba-cache

# Prints the name of a Python 3.11 or later that can make an environment with pip in it.
find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
            2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# The compiler is for the emulated device, which runs the CUDA kernels on the CPU.
check_tools() {
    if find_python >/dev/null && command -v g++ >/dev/null; then
        return
    fi
    local sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo "
    {
        echo "ketgrad needs Python 3.11 or later with its venv module, and g++. On Debian or Ubuntu:"
        echo "${sudo}apt-get update && ${sudo}apt-get install -y python3 python3-venv g++"
    } >&2
    exit 1
}

# A .venv that was copied or moved here still works on its old folder: pip says which.
make_venv() {
    case $("$VENV/bin/pip" --version 2>/dev/null) in
    *" from $VENV/"*) return ;;
    esac
    echo "Making .venv"
    "$(find_python)" -m venv --clear "$VENV"
}

# install_project EXTRAS: nothing, or "[test]", which has what nothing has too.
install_project() {
    local extras=$1 wanted
    check_tools
    make_venv
    wanted=$(sha256sum <pyproject.toml)
    case $(cat "$STAMP" 2>/dev/null) in
    "$wanted$extras" | "${wanted}[test]") return ;;
    esac
    echo "Installing ketgrad$extras into .venv: once, a few minutes at most"
    rm -f "$STAMP"
    "$PYTHON" -m pip install --editable ".$extras"
    echo "$wanted$extras" >"$STAMP"
}

# stage NAME COMMAND...: runs the command under a heading with the seconds since the start.
stage() {
    printf '\n== %s (%s s)\n' "$1" "$SECONDS"
    "${@:2}"
}
