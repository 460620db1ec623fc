#!/bin/sh
# Print the first Python on PATH that is new enough for deep_notebook, or say how to get one.
for python in python3 python3.13 python3.12 python3.11 python3.14 python; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        command -v "$python"
        exit 0
    fi
done
echo "deep_notebook needs Python 3.11 or newer, and there is none on PATH. Get one from https://www.python.org/downloads/, or with: apt-get install python3 python3-venv, brew install python." >&2
exit 1
