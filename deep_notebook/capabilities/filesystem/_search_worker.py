"""Match lines in a process of its own, so that a pattern that backtracks for ever can be stopped.

Reads one JSON object from standard input: `pattern`, `ignore_case`, `limit` and `texts`. Writes one JSON line
`[index of the text, line, character]` per matching line, both counted from 0, at most `limit` of them.
"""

import json
import re
import sys


def main() -> None:
    job = json.load(sys.stdin)
    pattern = re.compile(job['pattern'], re.IGNORECASE if job['ignore_case'] else 0)
    left = job['limit']
    for index, text in enumerate(job['texts']):
        for number, line in enumerate(text.split('\n')):
            match = pattern.search(line.removesuffix('\r'))
            if match is None:
                continue
            print(json.dumps([index, number, match.start()]), flush=True)
            left -= 1
            if not left:
                return


if __name__ == '__main__':
    main()
