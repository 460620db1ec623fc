"""From the kernel's messages to a cell's outputs, as a notebook front end makes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Output = dict[str, Any]
"""An output in nbformat's shape."""


def apply_outputs(messages: Iterable[tuple[str, str, Mapping[str, Any]]], msg_id: str) -> list[Output]:
    """Return the outputs of the request `msg_id`, given all messages as (parent, kind, content).

    Streams are joined, `clear_output` is obeyed, and an update of a display id changes every output that bears
    it, whichever request sent the update.
    """
    outputs: list[Output] = []
    by_display_id: dict[str, list[Output]] = {}
    clear_next = False
    for parent, kind, content in messages:
        display_id = content.get('transient', {}).get('display_id')
        if kind == 'update_display_data':
            for output in by_display_id.get(display_id, []):
                output |= {'data': content['data'], 'metadata': content['metadata']}
        if parent != msg_id:
            continue
        if kind == 'clear_output':
            clear_next = bool(content['wait'])
            if not clear_next:
                outputs.clear()
            continue
        made = _output(kind, content)
        if made is None:
            continue
        if clear_next:
            outputs.clear()
            clear_next = False
        if display_id is not None:
            by_display_id.setdefault(display_id, []).append(made)
        last = outputs[-1] if outputs else {}
        if kind == 'stream' and last.get('name') == made['name']:
            last['text'] += made['text']
        else:
            outputs.append(made)
    return outputs


def _output(kind: str, content: Mapping[str, Any]) -> Output | None:
    match kind:
        case 'stream':
            return {'output_type': kind, 'name': content['name'], 'text': content['text']}
        case 'display_data' | 'execute_result':
            output = {'output_type': kind, 'data': content['data'], 'metadata': content['metadata']}
            return output | ({'execution_count': content['execution_count']} if kind == 'execute_result' else {})
        case 'error':
            return {'output_type': kind} | {name: content[name] for name in ('ename', 'evalue', 'traceback')}
        case _:
            return None
