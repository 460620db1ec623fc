"""Show which Python and packages code really runs with, and which files stand in the way of modules."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Iterator
from pathlib import Path


def modules_in(directory: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and path of each module that a directory would give to code that runs in it."""
    for path in sorted(directory.iterdir()):
        if path.suffix == '.py' and path.stem.isidentifier():
            yield path.stem, path
        elif (path / '__init__.py').is_file() and path.name.isidentifier():
            yield path.name, path


def in_the_way(directory: Path) -> Iterator[str]:
    """Yield what is said of each module of `directory` that hides one of Python or of an installed package."""
    installed = importlib.metadata.packages_distributions()
    for name, path in modules_in(directory):
        if name in sys.stdlib_module_names:
            yield f'{path.name} hides the module {name} of Python itself: rename it'
        elif name in installed and not is_where_installed(name, path):
            yield f'{path.name} hides the installed package {installed[name][0]}: rename it'


def is_where_installed(name: str, path: Path) -> bool:
    """Return whether an installed package is the one at `path`, as when it is installed from its source."""
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None and Path(spec.origin).resolve().is_relative_to(path.resolve())


def versions(names: list[str]) -> Iterator[str]:
    """Yield the version of each package, and where it is."""
    distributions = importlib.metadata.packages_distributions()
    for name in names:
        top = name.split('.')[0]
        for distribution in distributions.get(top, [name]):
            try:
                version = importlib.metadata.version(distribution)
            except importlib.metadata.PackageNotFoundError:
                found = top in sys.stdlib_module_names or importlib.util.find_spec(top) is not None
                yield f'{name}: {"part of Python, or a file here" if found else "not installed"}'
            else:
                spec = importlib.util.find_spec(top)
                origin = spec.origin if spec is not None and spec.origin else 'no file'
                yield f'{name}: {distribution} {version}, {origin}'


def main() -> int:
    """Run the script; returns its exit code: 1 if a file stands in the way of a module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('packages', nargs='*', help='names as they are imported')
    parser.add_argument('--directory', type=Path, default=Path.cwd(), help='by default, where the script is started')
    options = parser.parse_args()
    print(f'Python {platform.python_version()}, {sys.executable}')
    print(f'{platform.platform()}, {options.directory}')
    for line in versions(options.packages):
        print(line)
    findings = list(in_the_way(options.directory))
    for finding in findings:
        print(finding)
    if not findings:
        print('No file here stands in the way of a module.')
    return 1 if findings else 0


if __name__ == '__main__':
    sys.exit(main())
