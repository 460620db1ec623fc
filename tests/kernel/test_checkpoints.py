"""A notebook whose options ask for checkpoints can go back to one."""

from __future__ import annotations

from pathlib import Path

from harness.deep import deep, run_deep
from harness.kernels import RealKernel


def test_a_rewind_ends_the_run_and_the_conversation_goes_on_from_there(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / 'agent.yaml').write_text('include_checkpoints: true\ndefer: null\n')
    deep(
        kernel,
        """
        seen = []
        model = script(
            call('save_checkpoint', label='before'),
            'Saved.',
            'The colour is red.',
            call('rewind_to', checkpoint='before'),
            'I know of no colour.',
            seen=seen,
        )
        """,
    )
    kernel.run('%deep spec agent.yaml')
    run_deep(kernel, '', 'Save this.')
    run_deep(kernel, '', 'Name a colour.')
    rewound = run_deep(kernel, '--approve auto', 'Go back.')
    assert 'Went back to the checkpoint “before”' in rewound.displays[-1]['text/plain']
    run_deep(kernel, '', 'Which colour?')
    assert kernel.run('print(prompts(seen[-1]))').stdout == "['Save this.', 'Which colour?']\n"
