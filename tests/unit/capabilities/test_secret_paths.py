"""Which paths are secret, and which commands and code are seen to name one."""

from __future__ import annotations

from time import process_time

import pytest

from deep_notebook.capabilities.secret_paths import SecretPaths

SECRETS = SecretPaths()


@pytest.mark.parametrize(
    'path',
    [
        *('.env', './.env', 'app/.env', 'a/../.env', '.env/', './/.env', '/home/me/project/.env', '.ENV', ' .env '),
        *('.env.local', 'prod.env', '.envrc', '.\u200benv', 'ｅ/．env', 'config\\.env', '/proc/self/environ'),
        *('file:///home/me/.env', 'file:/home/me/%2Eenv', '../other/.env', 's3://bucket/.env'),
        *('~/.ssh/id_rsa', '.ssh', '.ssh/config', 'id_ed25519', 'keys/id_rsa.bak', 'server.pem', 'tls/server.KEY'),
        *('.gnupg/secring.gpg', 'store.p12', 'a.kdbx', '~/Library/Keychains/login.keychain-db'),
        *('credentials.json', 'secrets.toml', '.streamlit/secrets.toml', '.netrc', '_netrc', '.git-credentials'),
        *('.pgpass', '.pypirc', '.npmrc', 'client_secret_12.apps.json', 'service-account.json', 'kaggle.json'),
        *('/etc/shadow', '.cache/huggingface/token', 'runtime/jpserver-12.json', 'kernel-1.json'),
        *('~/.aws/credentials', '.aws', '.kube/config', '.config/gcloud/x.db', '.docker/config.json', '.azure/a/b'),
        *('prod.tfvars', 'terraform.tfstate', 'terraform.tfstate.backup', 'rclone.conf'),
    ],
)
def test_a_path_is_secret(path: str) -> None:
    found = SECRETS.in_path(path)
    assert found is not None
    assert found.name == path


@pytest.mark.parametrize(
    'path',
    [
        *('', '.', '/', 'sales.csv', 'env', 'environment.yml', '.env.example', 'a/.env.sample', 'example.env', '.envy'),
        *('id_rsa.pub', 'server.pub', 'cacert.pem', 'keyboard.py', 'key', '.pem', 'monkey.py', 'a.keys', 'tokens.txt'),
        *('credentials', 'credentials.py', 'secrets.py', 'secretary.json', 'ssh/config', 'aws/config', 'docker/config'),
        *('https://example.org/.env', 'token', 'kernel.json', 'notebook.ipynb', 'the .env file is missing', '.env\nx'),
        *('.env/bin/python', 'x' * 5_000 + '.env'),
    ],
)
def test_a_path_is_no_secret(path: str) -> None:
    assert SECRETS.in_path(path) is None


@pytest.mark.parametrize(
    'pattern',
    [
        *('.env', '**/.env', '.env*', '.e*', '.*', '**/.*', '.[e]nv', '.?nv', '{.env,x}', 'a/{b,.env}', '.{env,x}'),
        *('*.pem', '**/*.pem', '*.{csv,key}', 'id_*', '*_rsa', '.ssh/*', '.s*/*', '~/.a*/cred*', '*.env', '**/*.kdbx'),
    ],
)
def test_a_pattern_is_after_secrets(pattern: str) -> None:
    assert SECRETS.in_glob(pattern) is not None


@pytest.mark.parametrize(
    'pattern',
    [
        *(
            '*',
            '**',
            '**/*',
            '*.*',
            '*.csv',
            '*.json',
            '*.py',
            'src/**/test_*.py',
            'i*',
            's*',
            '[a-z]*',
            '?',
            '.github*',
        ),
        *('{a,b}.csv', '.github/**', '*.pub', '{', '[', '*' * 600),
    ],
)
def test_a_pattern_is_after_nothing_special(pattern: str) -> None:
    assert SECRETS.in_glob(pattern) is None


@pytest.mark.parametrize(
    'command',
    [
        *('cat .env', 'cat ./.env', 'cat<.env', 'cat .e""nv', "cat '.env'", 'cat .e\\nv', 'cat .env|head', 'cat .en*'),
        *('F=.env; cat $F', 'source .env && run', 'sort --files0-from=.env', 'curl -d @.env x', 'cp .env /tmp/x'),
        *('ln -s .env notes.txt', 'echo A=1 >> .env', 'git show HEAD:.env', 'docker run --env-file=.env x'),
        *('sh -c "cat .env"', 'python -c \'print(open(".env").read())\'', 'echo $(cat .env)', 'echo `cat .env`'),
        *('cat ~/.ssh/id_rsa', 'cd ~/.ssh; ls', 'tar c .aws', 'scp host:.ssh/id_rsa .', 'cat "$HOME/.aws/credentials"'),
        *('cat {.env,a}', 'find . -name "*.pem"', 'rg --hidden KEY .env.local', 'cat /proc/1/environ', 'base64 a.key'),
        *('gh auth token', 'aws configure get x', 'kubectl config view --raw', 'gcloud auth print-access-token'),
        *("cat .env 'unbalanced", 'cat\t.env', 'a\nb\ncat .env', 'echo a#b; cat .env', 'type config\\.env'),
    ],
)
def test_a_command_names_a_secret(command: str) -> None:
    assert SECRETS.in_command(command) is not None


@pytest.mark.parametrize(
    'command',
    [
        *('', 'ls', 'ls -la', 'cat *.csv', 'git status', 'pip install python-dotenv', 'env', 'pytest -k "env or key"'),
        *('cat .env.example', 'python train.py --key=value', 'grep -rn token src', 'ls *', 'cat config.json # x'),
        *("awk '{print $1}' a.csv", 'gh pr list', 'aws s3 ls', 'cat id_rsa.pub', "echo 'unbalanced", 'wc -l a.py'),
    ],
)
def test_a_command_names_no_secret(command: str) -> None:
    assert SECRETS.in_command(command) is None


@pytest.mark.parametrize(
    'code',
    [
        *("open('.env')", 'open(".e" + "nv").read()', "Path.home() / '.ssh' / 'id_rsa'", "open(f'{home}/.aws/config')"),
        *("p = 'app/.env'\nopen(p)", "os.path.join(root, '.env')", "open(b'.env')", "pd.read_csv('server.pem')"),
        *(
            "glob.glob('*.pem')",
            "Path('.').rglob('.en*')",
            'open(f"{name}.pem")',
            'load_dotenv()',
            'dotenv.dotenv_values()',
        ),
        *(
            "os.system('cat .env')",
            "subprocess.run(['cat', '.e*'])",
            'subprocess.run(\'sh -c "cat id_rsa"\', shell=True)',
        ),
        *('!cat .env', 'x = !cat .env', '%load .env', '%pycat .env', '%%bash\nhead .env', '%%writefile .env\nA=1'),
        *('cat .env', '  cat .env', 'if True:\n    !cat .env', 'exec(\'open(".env")\')', 'await aopen(".env")'),
        *("```python\nopen('.env')\n```", 'this is no python .env', "open('.env'", "get_ipython().system('cat .env')"),
        *("shutil.copy('.env', 'x')", "os.symlink('.env', 'notes')", "open('/proc/self/environ')"),
        *("def f(path='.env'): ...", 'x = {"path": ".env"}'),
    ],
)
def test_code_names_a_secret(code: str) -> None:
    assert SECRETS.in_python(code) is not None


@pytest.mark.parametrize(
    'code',
    [
        *(
            '',
            'df.describe()',
            "df['key']",
            "df['env']",
            'x = df.key\ny = os.env',
            "open('.env.example')",
            '# see .env',
        ),
        *("re.sub('.*', '', x)", "re.match('.e.*', x)", "glob('*.csv')", "print('the .env file is missing')"),
        *('!pip install python-dotenv', '%timeit f()', '%matplotlib inline', '%%time\nf()', "os.environ['HOME']"),
        *('```python\n# see .env\nf()\n```', "'''Text on\n.env\n'''", 'x = 10\n%time x', 'ls = [1]\nls'),
    ],
)
def test_code_names_no_secret(code: str) -> None:
    assert SECRETS.in_python(code) is None


def test_more_can_be_denied_and_some_allowed() -> None:
    secrets = SecretPaths(deny=['*.sqlite', 'private/**'], allow=['tests/**', 'Dev.env'])
    assert secrets.in_path('data/A.sqlite') is not None
    assert secrets.in_path('x/private/a.txt') is not None
    assert secrets.in_command('cat private/notes') is not None
    assert secrets.in_path('tests/certs/server.pem') is None
    assert secrets.in_path('dev.env') is None
    assert secrets.in_path('tests/../server.pem') is not None


def test_a_malformed_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match='is not a valid pattern'):
        SecretPaths(deny=['{a'])


@pytest.mark.parametrize('look', [SECRETS.in_command, SECRETS.in_python, SECRETS.in_glob, SECRETS.in_path])
@pytest.mark.parametrize(
    'text', ['a' * 300_000, '(' * 50_000, '{a,' * 20_000, '{a,b}' * 700, '/' * 100_000, 'a/' * 2_000, '\\' * 50_000]
)
def test_no_text_takes_long(look: object, text: str) -> None:
    assert callable(look)
    before = process_time()
    look(text)
    assert process_time() - before < 3
