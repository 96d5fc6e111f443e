/**
 * Commands of a skill that is a Python project: before the first, its environment is made; after that, it is only entered.
 *
 * Stands beside the flow.
 *
 * Runs inside the sandbox, as its user, with the sandbox's own Python. Beside the workspace's files, `/workspace/.skill-envs/<name>` holds
 * `.venv`, pip's cache, a log, and a note of what the environment was made from: interpreter, version, and the SHA-256 of every manifest.
 * As long as the note is true, nothing is done. The note is written last, so whatever was cut off is made anew. Two commands at once wait
 * for each other by a lock that the kernel lets go of when its holder dies, so none is ever stale.
 */
import { checkSkillName } from './skill.ts'
import { SKILLS_TARGET } from './skill-views.ts'

const ENVIRONMENTS = '/workspace/.skill-envs'
/** How long a command waits for another that makes the environment. */
const PATIENCE_SECONDS = 120

const BOOTSTRAP = `
import fcntl, hashlib, json, os, subprocess, sys, time

skill, state, patience = sys.argv[1], sys.argv[2], int(sys.argv[3])
notes = os.path.join(state, ".holdfast")
note, log = os.path.join(notes, "python-env.json"), os.path.join(notes, "python-env.log")
venv = os.path.join(state, ".venv")

def fail(why):
    sys.stderr.write("holdfast: the Python environment of this skill cannot be made: " + why + "\\n")
    sys.exit(1)

def manifests():
    found = {}
    for name in ("requirements.txt", "pyproject.toml", "setup.py", "setup.cfg"):
        try:
            with open(os.path.join(skill, name), "rb") as file:
                found[name] = hashlib.sha256(file.read()).hexdigest()
        except (FileNotFoundError, IsADirectoryError):
            pass
    return found

def run(*argv):
    with open(log, "ab") as output:
        if subprocess.call(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=skill) == 0:
            return
    with open(log, "rb") as output:
        output.seek(max(0, os.path.getsize(log) - 4000))
        sys.stderr.write(output.read().decode("utf-8", "replace"))
    fail(" ".join(argv[:4]) + " failed")

def is_true(wanted):
    try:
        with open(note) as file:
            return json.load(file) == wanted and os.path.exists(os.path.join(venv, "bin", "python"))
    except (OSError, ValueError):
        return False

def locked():
    file = open(os.path.join(notes, "python-env.lock"), "a")
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() >= until:
                fail("another command has been making it for " + str(patience) + " seconds")
            time.sleep(0.1)

if not os.path.isdir(skill):
    fail(skill + " is not there")
for path in (notes, os.path.join(state, ".tmp"), os.path.join(state, ".cache", "pip")):
    os.makedirs(path, exist_ok=True)
with locked():
    files = manifests()
    wanted = {"interpreter": sys.executable, "version": sys.version, "manifests": files}
    if is_true(wanted):
        sys.exit(0)
    if os.path.exists(note):
        os.remove(note)
    if os.path.exists(log):
        os.remove(log)
    run(sys.executable, "-m", "venv", "--clear", venv)
    python = os.path.join(venv, "bin", "python")
    if "requirements.txt" in files:
        run(python, "-m", "pip", "install", "-r", "requirements.txt")
    elif "pyproject.toml" in files or "setup.py" in files:
        run(python, "-m", "pip", "install", skill)
    with open(note + ".new", "w") as file:
        json.dump(wanted, file)
    os.replace(note + ".new", note)
`

/** The command as it is to be given to `sh -c`: run in the environment of the skill, which is made first if need be. */
export function withPythonEnvironment(skillName: string, command: string): string {
  const name = checkSkillName(skillName)
  const state = `${ENVIRONMENTS}/${name}`
  const settings = [
    `TMPDIR=${quoted(`${state}/.tmp`)}`,
    `PIP_CACHE_DIR=${quoted(`${state}/.cache/pip`)}`,
    'PIP_DISABLE_PIP_VERSION_CHECK=1',
    'PIP_NO_INPUT=1',
  ].join(' ')
  const interpreter = '"$(command -v python3 || command -v python || echo python3)"'
  return [
    `${settings} ${interpreter} -c ${quoted(BOOTSTRAP)} ${quoted(`${SKILLS_TARGET}/${name}`)} ${quoted(state)} ${PATIENCE_SECONDS} || exit $?`,
    `export VIRTUAL_ENV=${quoted(`${state}/.venv`)} PIP_CACHE_DIR=${quoted(`${state}/.cache/pip`)}`,
    'export PATH="$VIRTUAL_ENV/bin:$PATH"',
    command,
  ].join('\n')
}

/** One word of a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
