/** The command line's own reader of the environment: where the server is and which key to show it. The rest is the server's `loadConfig`. */
import { dirname, join } from 'node:path'
import { shellWord } from './output/shell-word.ts'

export interface ClientEnvironment {
  /** `HOLDFAST_URL`: a server elsewhere. */
  readonly url: string | null
  /** `HOLDFAST_API_KEY`: instead of the key file in the home. */
  readonly apiKey: string | null
  /** https://no-color.org */
  readonly isPlain: boolean
  /** How the person at the keyboard starts this program, in whichever directory: `holdfast`, or by the entry of a clone. */
  readonly program: string
  /** Started in a clone: its directory. */
  readonly clone: string | null
  /** What was said in this environment about where the server and its key are, and is no secret. */
  readonly whereabouts: Readonly<Record<string, string>>
}

const WHEREABOUTS = ['HOLDFAST_URL', 'HOLDFAST_HOME', 'HOLDFAST_HOST', 'HOLDFAST_PORT']

export function clientEnvironment(environment: NodeJS.ProcessEnv = process.env): ClientEnvironment {
  const clone = cloneOf(environment)
  return {
    url: environment['HOLDFAST_URL'] || null,
    apiKey: environment['HOLDFAST_API_KEY'] || null,
    isPlain: (environment['NO_COLOR'] ?? '') !== '' || environment['TERM'] === 'dumb',
    program: clone === null ? 'holdfast' : `node ${shellWord(join(clone, 'scripts/run.mjs'))} holdfast`,
    clone,
    whereabouts: Object.fromEntries(
      WHEREABOUTS.flatMap((name) => (environment[name] === undefined || environment[name] === '' ? [] : [[name, environment[name]]])),
    ),
  }
}

/** Said by `scripts/run.mjs`, or by npm. */
function cloneOf(environment: NodeJS.ProcessEnv): string | null {
  const { HOLDFAST_SETUP_CLONE: said, npm_lifecycle_event: event, npm_package_json: file } = environment
  return said ?? (event === undefined ? null : dirname(file ?? 'package.json'))
}
