/**
 * Dependencies of a Python project: an environment of the box's own Python, beside the project.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * The project itself is installed where it says how it is built, and as a reference to its files, so that a changed file needs no new
 * installation. Where it only lists what it depends on, that is installed.
 */
import type { Recipe, RecipeStep } from './recipe.ts'

const INTERPRETER = '"$(command -v python3 || command -v python || echo python3)"'

/** Runs in the environment: what a `pyproject.toml` means is for Python to say. pip brings a reader for those before 3.11. */
const INSTALL_PROJECT = `
import os, sys
try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib
declared = {}
if os.path.exists("pyproject.toml"):
    with open("pyproject.toml", "rb") as file:
        declared = tomllib.load(file)
if "build-system" in declared or os.path.exists("setup.py"):
    wanted = ["--use-pep517", "-e", "."]
else:
    wanted = list(declared.get("project", {}).get("dependencies", []))
if wanted:
    os.execv(sys.executable, [sys.executable, "-m", "pip", "install", *wanted])
`

export const PYTHON_RECIPE: Recipe = {
  title: 'Python',
  manifests: ['requirements.txt', 'pyproject.toml', 'setup.py', 'setup.cfg'],
  localDependency: /^[ \t]*(?:-e\b|--editable\b|\.{0,2}\/|file:)|@[ \t]*file:/m,
  probe: ['/bin/sh', '-c', `exec ${INTERPRETER} -c 'import sys; print(sys.executable, sys.version)'`],
  withoutRuntime: 'the box has no python3; name an image that has it with box.image',
  note: ({ venv }) => `${venv}/.holdfast-installed`,
  environment: ({ places, network }) => ({
    TMPDIR: places.tmp,
    PIP_CACHE_DIR: `${places.cache}/pip`,
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    PIP_NO_INPUT: '1',
    PIP_PROGRESS_BAR: 'off',
    // Without a network pip would try for half a minute what cannot be.
    ...(network === 'off' ? { PIP_NO_INDEX: '1' } : {}),
  }),
  steps({ places }, found) {
    const python = `${places.venv}/bin/python3`
    const steps: RecipeStep[] = [
      {
        what: 'python3 -m venv',
        argv: ['/bin/sh', '-c', `exec ${INTERPRETER} -m venv --clear "$1"`, 'sh', places.venv],
        hint: 'the Python of the box makes no environments (in Debian the package python3-venv does); name another image with box.image',
      },
    ]
    if (found.has('requirements.txt'))
      steps.push({ what: 'pip install -r requirements.txt', argv: [python, '-m', 'pip', 'install', '-r', 'requirements.txt'] })
    if (found.has('pyproject.toml') || found.has('setup.py'))
      steps.push({ what: 'pip install of the project', argv: [python, '-c', INSTALL_PROJECT] })
    return steps
  },
}
