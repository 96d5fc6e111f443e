/**
 * Small projects of MCP servers that need no registry: what they depend on lies in them.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeZip } from '../../../skills/contract/zip-writer.ts'

type Files = Readonly<Record<string, string | Buffer>>

function write(directory: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), content)
  }
}

/** A virtual environment of the host, as far as the box is concerned: an interpreter that is not there. */
function hostVenv(directory: string): void {
  write(directory, { '.venv/pyvenv.cfg': 'home = /nowhere\n', '.venv/lib/secret.txt': 'of the host' })
  mkdirSync(join(directory, '.venv/bin'))
  symlinkSync('/usr/bin/python3', join(directory, '.venv/bin/python'))
}

/** Answers one line of JSON with what it was told and by whom. */
const PYTHON_SERVER = `import json, os, sys
import greeting
for line in sys.stdin:
    told = json.loads(line)
    answer = {"greeting": greeting.TEXT, "id": told["id"], "prefix": sys.prefix, "argv": sys.argv[1:], "cwd": os.getcwd()}
    print(json.dumps(answer), flush=True)
`

function wheelOf(name: string, module: string): Buffer {
  return writeZip([
    { name: `${name}.py`, content: module },
    { name: `${name}-1.0.dist-info/METADATA`, content: `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n` },
    { name: `${name}-1.0.dist-info/WHEEL`, content: 'Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n' },
    { name: `${name}-1.0.dist-info/RECORD`, content: '' },
  ])
}

/** `server.py` with a requirement that lies beside it. */
export function pythonProject(directory: string): void {
  write(directory, {
    'server.py': PYTHON_SERVER,
    'requirements.txt': './vendor/greeting-1.0-py3-none-any.whl\n',
    'vendor/greeting-1.0-py3-none-any.whl': wheelOf('greeting', 'TEXT = "hello from a wheel"\n'),
    '.git/HEAD': 'ref: refs/heads/main\n',
  })
  hostVenv(directory)
}

/** Builds itself, without anything from elsewhere. */
const BACKEND = `import os, zipfile
def build_wheel(directory, settings=None, metadata=None):
    name = "demo_server-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as wheel:
        wheel.writestr("demo_server.pth", os.path.join(os.getcwd(), "src") + "\\n")
        info = "demo_server-1.0.dist-info/"
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: demo-server\\nVersion: 1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "entry_points.txt", "[console_scripts]\\ndemo-server = demo_server:main\\n")
        wheel.writestr(info + "RECORD", "")
    return name
build_editable = build_wheel
`

/** A package with a program of its own, \`demo-server\`. */
export function packagedProject(directory: string): void {
  write(directory, {
    'pyproject.toml':
      '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "demo-server"\nversion = "1.0"\n',
    'backend.py': BACKEND,
    'src/demo_server.py': 'def main():\n    print("first")\n',
  })
  hostVenv(directory)
}

/** What npm would have written, had it been asked: the second package is only for those who build. */
const LOCK = {
  ...{ name: 'demo', version: '1.0.0', lockfileVersion: 3, requires: true },
  packages: {
    '': {
      name: 'demo',
      version: '1.0.0',
      dependencies: { greeting: 'file:./vendor/greeting' },
      devDependencies: { 'only-in-a-registry': '1.0.0' },
    },
    'node_modules/greeting': { resolved: 'vendor/greeting', link: true },
    'node_modules/only-in-a-registry': {
      version: '1.0.0',
      resolved: 'https://registry.invalid/x.tgz',
      integrity: 'sha512-AAAA',
      dev: true,
    },
    'vendor/greeting': { version: '1.0.0', hasInstallScript: true },
  },
}

/** `dist/index.js` with a package that lies beside it and has a script of its own; the build of the project itself must not be run. */
export function nodeProject(directory: string, { isLocked }: { readonly isLocked: boolean }): void {
  write(directory, {
    'package.json': JSON.stringify({
      ...{ name: 'demo', version: '1.0.0', type: 'module', scripts: { prepare: 'exit 7' } },
      dependencies: { greeting: 'file:./vendor/greeting' },
      ...(isLocked ? { devDependencies: { 'only-in-a-registry': '1.0.0' } } : {}),
    }),
    ...(isLocked ? { 'package-lock.json': JSON.stringify(LOCK) } : {}),
    'dist/index.js': `import { TEXT } from 'greeting'
import { createInterface } from 'node:readline'
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify({ greeting: TEXT, id: JSON.parse(line).id, argv: process.argv.slice(2), cwd: process.cwd() }))
}
`,
    'vendor/greeting/package.json': JSON.stringify({
      ...{ name: 'greeting', version: '1.0.0', type: 'module', exports: './index.js' },
      scripts: { postinstall: "node -e \"fs.writeFileSync('made.js', 'export const TEXT = \\'hello from a script\\'')\"" },
    }),
    'vendor/greeting/index.js': "export { TEXT } from './made.js'\n",
    'node_modules/greeting/index.js': 'throw new Error("of the host")',
  })
}
