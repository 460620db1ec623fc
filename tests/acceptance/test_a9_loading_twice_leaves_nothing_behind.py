"""A9 (jupyter-ai#410): `%load_ext`, unload, reload → one magic, one transformer, nothing left behind."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from harness.deep import run_deep
from harness.kernels import RealKernel

pytestmark = pytest.mark.kernel

STATE = """
    import json
    ip = get_ipython()
    print(json.dumps({
        'magics': sorted(kind for kind, found in ip.magics_manager.magics.items() if 'deep' in found),
        'transformers': sum('deep_notebook' in t.__module__ for t in ip.input_transformers_cleanup),
        'registered': 'DeepMagics' in ip.magics_manager.registry,
        'configurables': sum(type(c).__name__ == 'DeepMagics' for c in ip.configurables),
        'completers': sum('%deep' in key for key in ip.strdispatchers['complete_command'].strs),
        'hooks': {event: sum('deep_notebook' in str(getattr(call, '__module__', '')) for call in calls)
                  for event, calls in ip.events.callbacks.items()},
        'names': [name for name in (*vars(ip), *ip.user_ns) if 'deep' in name],
    }))
    del ip, json
"""
EMPTY = {'magics': [], 'transformers': 0, 'registered': False, 'configurables': 0, 'completers': 0, 'names': []}
LOADED = {'magics': ['cell', 'line'], 'transformers': 1, 'registered': True, 'configurables': 1, 'completers': 2}


def seen(kernel: RealKernel) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kernel.run(textwrap.dedent(STATE)).stdout)
    assert not any(found.pop('hooks').values())
    return found


def test_loading_again_and_unloading_leaves_nothing_behind(kernel: RealKernel) -> None:
    assert seen(kernel) == EMPTY
    for _ in range(2):
        for line in ('%load_ext deep_notebook', '%load_ext deep_notebook', '%reload_ext deep_notebook'):
            assert kernel.run(line).error is None
            state = seen(kernel)
            assert {name: state[name] for name in LOADED} == LOADED, line
        kernel.run("from harness.scripted import script\nmodel = script('Answered.')")
        assert 'Answered.' in run_deep(kernel, '', 'hi', allow_stdin=False).displays[-1]['text/plain']

        assert kernel.run('%unload_ext deep_notebook').error is None
        assert seen(kernel) == EMPTY
        assert '`%%deep` not found' in kernel.run('%%deep\nhi').stderr

    kernel.run('%load_ext deep_notebook')
    assert 'Last run: 2, done' in kernel.run('%deep status').stdout
