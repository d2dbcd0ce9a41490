#!/usr/bin/env bash
# Sixty altered lines, drawn by the commit: at most six may go unnoticed by the tests; two hours
#   tests/soak/mutation.sh [--short] [--guards] [--seed WORD] [--only FOLDER] [--resume] [--list] ...        --help: all of them
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case " $* " in
  *" --help "* | *" -h "* | *" --list "*) ;;
  *) "$here/../../cmake/bootstrap.sh" build test netns windows ;;
esac
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/mutation.py" "$@"
