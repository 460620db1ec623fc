"""A real JupyterLab: the server, and a notebook open in it that a test uses as a person would.

    notebook = open_notebook(['x = 1', 'x + 1'])
    notebook.run_all()
    notebook.wait_for_prompt(1)
    assert notebook.outputs(1)[0]['data'] == {'text/plain': '2'}

Lab's status line reads Idle while a cell runs, so nothing here waits for it: a cell has ended when its prompt has
a number.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
import psutil
from playwright.sync_api import Browser, BrowserContext, Locator, Page, ViewportSize

from .environment import ARTIFACTS, clean_env, write_kernelspecs

VIEWPORT: ViewportSize = {'width': 1280, 'height': 900}
"""The size of a page, in pixels, unless the test says otherwise."""

NOISE = re.compile(r"reading 'kernel'.*@jupyter-widgets/jupyterlab-manager", re.DOTALL)
"""What the page complains of by itself: ipywidgets' manager does so in any notebook opened without a kernel."""

TIMEOUT = 30.0
"""Seconds that any wait lasts unless the test says otherwise."""


class Lab:
    """A JupyterLab server on a free port of 127.0.0.1, with the kernels `py73` and `py74` and no network."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / 'notebooks'
        """What the server serves."""
        self.root.mkdir(parents=True)
        self._home = directory / 'home'
        self._log = directory / 'server.log'
        self.settings = self._home / 'settings'
        """Where the person's JupyterLab settings are kept."""
        self._token = secrets.token_hex(16)
        write_kernelspecs(self._home / 'jupyter-path')
        self._configure()
        with self._log.open('wb') as log:
            self._process = subprocess.Popen(
                [sys.executable, '-m', 'jupyterlab'],
                cwd=self.root,
                env=clean_env(self._home, {'JUPYTER_PATH': str(self._home / 'jupyter-path')}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self.url = self._wait_for_url()
        except BaseException:
            self.close()
            raise

    def _configure(self) -> None:
        config = self._home / 'jupyter' / 'config'
        config.mkdir(parents=True)
        (config / 'jupyter_server_config.json').write_text(
            json.dumps(
                {
                    'ServerApp': {
                        'ip': '127.0.0.1',
                        'port': 0,
                        'open_browser': False,
                        'allow_root': True,
                        'root_dir': str(self.root),
                    },
                    'IdentityProvider': {'token': self._token},
                    'LabApp': {
                        'collaborative': False,
                        'expose_app_in_browser': True,
                        'extension_manager': 'readonly',
                        'news_url': None,
                        'check_for_updates_class': 'jupyterlab.NeverCheckForUpdate',
                        'user_settings_dir': str(self.settings),
                        'workspaces_dir': str(self._home / 'workspaces'),
                    },
                }
            ),
            encoding='utf-8',
        )
        page_config = config / 'labconfig' / 'page_config.json'
        page_config.parent.mkdir()
        page_config.write_text(
            json.dumps({'disabledExtensions': {'@jupyterlab/apputils-extension:announcements': True}}), encoding='utf-8'
        )

    def _wait_for_url(self) -> str:
        runtime = self._home / 'jupyter' / 'runtime' / f'jpserver-{self._process.pid}.json'
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                url = str(json.loads(runtime.read_text(encoding='utf-8'))['url']).rstrip('/')
                self.request('GET', '/api/status', base=url)
            except (OSError, ValueError):
                time.sleep(0.1)
            else:
                return url
        raise RuntimeError(f'JupyterLab did not start:\n{self.log}')

    @property
    def log(self) -> str:
        """What the server has logged."""
        return self._log.read_text(encoding='utf-8', errors='replace')

    def request(self, method: str, path: str, *, base: str | None = None) -> Any:
        """Call the server's REST interface and return the JSON answer, or None."""
        request = urllib.request.Request(
            (base or self.url) + path, method=method, headers={'Authorization': f'token {self._token}'}
        )
        with urllib.request.urlopen(request, timeout=20) as response:
            body = response.read()
        return json.loads(body) if body else None

    def page_url(self, path: str) -> str:
        """The address of a page of the server, with the right to see it."""
        return f'{self.url}/{path}{"&" if "?" in path else "?"}token={self._token}'

    def end_kernels(self, directory: str) -> None:
        """End the kernels of the notebooks under `directory` (relative to `root`)."""
        for session in self.request('GET', '/api/sessions'):
            if session['path'].startswith(f'{directory}/'):
                self.request('DELETE', f'/api/sessions/{session["id"]}')

    def close(self) -> None:
        """End the server, its kernels and whatever they started, each by its own id."""
        if self._process.poll() is not None:
            return
        family = psutil.Process(self._process.pid).children(recursive=True)
        os.kill(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _, alive = psutil.wait_procs(family, timeout=5)
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, timeout=5)


_PANEL = 'const panel = window.jupyterapp.shell.currentWidget;'
_CONNECTED = f"""() => {{
    {_PANEL}
    return panel.sessionContext.session?.kernel?.connectionStatus === 'connected';
}}"""


class NotebookPage:
    """A notebook open in a browser. Made by the `open_notebook` fixture, which also closes it."""

    def __init__(
        self, lab: Lab, browser: Browser, directory: str, cells: Sequence[str], kernel: str, *, scale: int = 1
    ) -> None:
        self.lab = lab
        self.directory = lab.root / directory
        """The notebook's directory on disk: where its kernel works."""
        self.path = self.directory / 'notebook.ipynb'
        self.kernel = kernel
        """The name of its kernelspec."""
        self.console_errors: list[str] = []
        """What the page has complained of so far."""
        self._relative = f'{directory}/notebook.ipynb'
        self._workspace = directory.replace('/', '-')
        self.directory.mkdir(parents=True, exist_ok=True)
        _write_notebook(self.path, cells, kernel)
        self.context: BrowserContext = browser.new_context(viewport=VIEWPORT, device_scale_factor=scale)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(TIMEOUT * 1000)
        self.page.on('console', lambda message: self._complain(message.text) if message.type == 'error' else None)
        self.page.on('pageerror', lambda error: self._complain(f'{error.stack or error}'))
        self.page.on('dialog', lambda dialog: dialog.accept())
        self._goto(f'lab/workspaces/{self._workspace}/tree/{self._relative}?reset')
        self._wait_for_cells()
        self.wait_for_kernel()
        self._nudge()

    # What a person does

    def run_all(self) -> None:
        """Run All Cells, without waiting for any to end."""
        self.wait_for_kernel()
        self.command('notebook:run-all-cells')

    def run_cell(self, index: int) -> None:
        """Run one cell, without waiting for its end."""
        self.wait_for_kernel()
        self.page.evaluate(f'(i) => {{ {_PANEL} panel.content.activeCellIndex = i; }}', index)
        self.command('notebook:run-cell')

    def replace_cells(self, sources: Sequence[str]) -> None:
        """Put these cells in the place of all there are; the kernel keeps what it knows."""
        self.page.evaluate(
            f"""(sources) => {{
                {_PANEL}
                const notebook = panel.content.model.sharedModel;
                notebook.transact(() => {{
                    notebook.deleteCellRange(0, notebook.cells.length);
                    notebook.insertCells(0, sources.map(source => ({{ cell_type: 'code', source }})));
                }});
            }}""",
            list(sources),
        )

    def interrupt(self) -> None:
        """Interrupt the kernel, as the menu and the shortcut do."""
        self.command('notebook:interrupt-kernel')

    def press_stop_in_toolbar(self) -> None:
        """Press the stop button of Lab's toolbar."""
        self.page.locator('.jp-NotebookPanel-toolbar [data-jp-item-name=interrupt] jp-button').click()

    def settle(self) -> None:
        """End whatever still runs, and wait until nothing does."""
        prompts = f'() => {{ {_PANEL} return panel.content.widgets.map(cell => cell.promptNode?.textContent); }}'
        if '[*]:' in self.page.evaluate(prompts):
            self.interrupt()
        self.page.wait_for_function(f"() => !({prompts})().includes('[*]:')")

    def click(self, label: str, *, cell: int | None = None) -> None:
        """Press the button with this label in a cell's output: the last such button, where there are several."""
        self.button(label, cell=cell).click()

    def save(self) -> None:
        """Save, and wait until it is on disk."""
        self.page.evaluate(f'async () => {{ {_PANEL} await panel.context.save(); }}')

    def reload(self) -> None:
        """Save, and load the page anew while the kernel goes on."""
        self.save()
        self.page.reload(wait_until='load')
        self._wait_for_cells()

    def reopen_without_kernel(self) -> None:
        """Save, end the kernel, and open the notebook anew without one: what someone else sees."""
        self.save()
        self.page.evaluate(f'async () => {{ {_PANEL} await panel.sessionContext.shutdown(); }}')
        self._goto(f'lab/workspaces/{self._workspace}?reset')
        self.page.wait_for_function('() => window.jupyterapp')
        self.page.evaluate('async () => { await window.jupyterapp.restored; }')
        preference = {'shouldStart': False, 'canStart': False, 'autoStartDefault': False}
        self.command('docmanager:open', {'path': self._relative, 'factory': 'Notebook', 'kernelPreference': preference})
        self._wait_for_cells()

    def set_theme(self, theme: str) -> None:
        """Change Lab's theme: `'JupyterLab Light'`, `'JupyterLab Dark'` or `'JupyterLab Dark High Contrast'`."""
        self.command('apputils:change-theme', {'theme': theme})
        self.page.wait_for_function('(theme) => document.body.dataset.jpThemeName === theme', arg=theme)
        self.page.wait_for_selector('#jupyterlab-splash', state='detached')

    def command(self, name: str, args: Mapping[str, Any] | None = None) -> None:
        """Execute a JupyterLab command without waiting for its end; a failure lands in `console_errors`."""
        self.page.evaluate(
            '([name, args]) => { window.jupyterapp.commands.execute(name, args).catch(e => console.error(`${e}`)); }',
            [name, dict(args or {})],
        )

    # What a person sees

    def cell(self, index: int) -> Locator:
        """A cell on the page."""
        return self.page.locator('.jp-Notebook .jp-Cell').nth(index)

    def output(self, index: int) -> Locator:
        """A cell's output area on the page."""
        return self.cell(index).locator('.jp-Cell-outputArea')

    def button(self, label: str, *, cell: int | None = None) -> Locator:
        """The last button with this label in the outputs, or in one cell's output."""
        place = self.page.locator('.jp-Cell-outputArea') if cell is None else self.output(cell)
        return place.get_by_role('button', name=label, exact=True).last

    def wait_for_kernel(self, timeout: float = 60.0) -> None:
        """Wait until the page is connected to the notebook's kernel, and the kernel has told what it is.

        What is sent to a kernel that is still starting can get lost.
        """
        self.page.wait_for_function(_CONNECTED, timeout=timeout * 1000)
        self.page.evaluate(f'async () => {{ {_PANEL} await panel.sessionContext.session.kernel.info; }}')

    def wait_for_text(self, text: str, *, cell: int, timeout: float = TIMEOUT) -> None:
        """Wait until a cell's output shows `text`."""
        self.output(cell).get_by_text(text).first.wait_for(timeout=timeout * 1000)

    def wait_for_prompt(self, index: int, number: int | None = None, *, timeout: float = TIMEOUT) -> int:
        """Wait until a cell has ended (with this execution count, if given), and return its execution count."""
        handle = self.page.wait_for_function(
            f"""([index, number]) => {{
                {_PANEL}
                const cell = panel.content.widgets[index];
                const shown = /^\\[(\\d+)\\]:/.exec(cell.promptNode?.textContent ?? '');
                return shown && (number === null || Number(shown[1]) === number) ? Number(shown[1]) : false;
            }}""",
            arg=[index, number],
            timeout=timeout * 1000,
        )
        return int(handle.json_value())

    def prompt(self, index: int) -> str:
        """A cell's prompt as shown: `'[ ]:'` never ran, `'[*]:'` runs or waits, `'[3]:'` has ended."""
        return str(
            self.page.evaluate(
                f"(index) => {{ {_PANEL} return panel.content.widgets[index].promptNode?.textContent ?? ''; }}", index
            )
        )

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """A cell's outputs in the notebook's model, in nbformat's shape (streams' text joined)."""
        outputs: list[dict[str, Any]] = self.page.evaluate(
            f'(index) => {{ {_PANEL} return panel.content.model.cells.get(index).toJSON().outputs ?? []; }}', index
        )
        for output in outputs:
            if isinstance(output.get('text'), list):
                output['text'] = ''.join(output['text'])
        return outputs

    def sources(self) -> list[str]:
        """The source of every cell."""
        sources: list[str] = self.page.evaluate(
            f'() => {{ {_PANEL} return [...panel.content.model.cells].map(cell => cell.sharedModel.getSource()); }}'
        )
        return sources

    def read(self) -> nbformat.NotebookNode:
        """Save, and read the notebook from disk."""
        self.save()
        notebook: nbformat.NotebookNode = nbformat.read(self.path, as_version=4)
        return notebook

    def visible_text(self) -> str:
        """The words of all buttons and paragraphs that lie wholly inside the notebook's visible part."""
        return str(
            self.page.evaluate(
                f"""() => {{
                    {_PANEL}
                    const frame = panel.content.node.getBoundingClientRect();
                    const elements = [...panel.content.node.querySelectorAll('button, p, span, label, code')];
                    return elements.filter(element => {{
                        const {{ top, bottom, height }} = element.getBoundingClientRect();
                        return height > 0 && top >= frame.top && bottom <= frame.bottom;
                    }}).map(element => element.innerText).join('\\n');
                }}"""
            )
        )

    def describe(self) -> str:
        """What can be seen of a page on which something does not happen: prompts, outputs, dialogs, the kernel."""
        seen = self.page.evaluate(
            f"""() => {{
                {_PANEL}
                const kernel = panel.sessionContext.session?.kernel;
                return {{
                    prompts: panel.content.widgets.map(cell => cell.promptNode?.textContent),
                    outputs: [...panel.content.model.cells].map(cell => cell.toJSON().outputs),
                    dialogs: [...document.querySelectorAll('.jp-Dialog')].map(dialog => dialog.innerText),
                    kernel: `${{kernel?.name}} ${{kernel?.connectionStatus}} ${{kernel?.status}}`,
                    display: panel.sessionContext.kernelDisplayStatus,
                }};
            }}"""
        )
        return json.dumps({**seen, 'errors': self.console_errors, 'server': self.lab.log[-3000:]}, ensure_ascii=False)

    def screenshot(self, name: str, *, of: Locator | None = None) -> Path:
        """Keep a picture of the page, or of one element, as `test-artifacts/screenshots/<name>.png`."""
        path = ARTIFACTS / 'screenshots' / f'{name}.png'
        path.parent.mkdir(parents=True, exist_ok=True)
        (self.page if of is None else of).screenshot(path=path)
        return path

    def close(self) -> None:
        """Close the page, end the kernel, and forget what was set."""
        self.context.close()
        self.lab.end_kernels(str(self.directory.relative_to(self.lab.root)))
        for setting in self.lab.settings.rglob('themes.jupyterlab-settings'):
            setting.unlink()

    def _goto(self, path: str) -> None:
        self.page.goto(self.lab.page_url(path), wait_until='load')

    def _nudge(self) -> None:
        """Make the kernel execute nothing, and connect to it anew until it has.

        On ipykernel 7.3 the first request of a connection can lie unread until somebody connects (its issue 1554).
        """
        self.page.evaluate(
            f"""async () => {{
                {_PANEL}
                const kernel = panel.sessionContext.session.kernel;
                const late = () => new Promise(resolve => setTimeout(resolve, 5000, 'late'));
                const executed = kernel.requestExecute({{ code: '', silent: true }}).done;
                for (let tries = 0; tries < 8 && await Promise.race([executed, late()]) === 'late'; tries += 1)
                    await kernel.reconnect();
            }}"""
        )

    def _wait_for_cells(self) -> None:
        self.page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.content?.model && document.querySelector('.jp-Cell')",
            timeout=60_000,
        )

    def _complain(self, text: str) -> None:
        if not NOISE.search(text):
            self.console_errors.append(text)


def _write_notebook(path: Path, cells: Sequence[str], kernel: str) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source, id=f'cell-{number}') for number, source in enumerate(cells, 1)],
        metadata={
            'kernelspec': {'name': kernel, 'display_name': kernel, 'language': 'python'},
            'language_info': {'name': 'python'},
        },
    )
    nbformat.write(notebook, path)
