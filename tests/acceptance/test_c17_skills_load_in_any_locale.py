"""C17: in a process whose locale knows ASCII only, skills load with every character they have."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from harness.processes import succeed

CODE = """
import json, sys
from deep_notebook.capabilities.skills import BUNDLED_SKILLS, SkillsDirectory
found = [skill for root in (BUNDLED_SKILLS, sys.argv[1]) for skill in SkillsDirectory(root).get_skills()]
print(json.dumps([sys.getfilesystemencoding(), *([skill.name, skill.description, skill.content] for skill in found)]))
"""


def test_skills_load_where_the_locale_is_c(tmp_path: Path) -> None:
    (tmp_path / 'units').mkdir()
    (tmp_path / 'units/SKILL.md').write_text('---\nname: units\ndescription: Größe, 单位\n---\nDo é.', encoding='utf-8')
    environment = {**os.environ, 'LC_ALL': 'C', 'PYTHONUTF8': '0', 'PYTHONCOERCECLOCALE': '0'}
    encoding, *skills = json.loads(succeed(sys.executable, '-c', CODE, tmp_path, env=environment))
    assert encoding != 'utf-8'
    assert skills[-1] == ['units', 'Größe, 单位', 'Do é.']
    assert 'of Okabe and Ito' in {name: content for name, _, content in skills}['plotting']
