/** The command line's own reader of the environment: where the server is and which key to show it. The rest is the server's `loadConfig`. */
import { dirname } from 'node:path'

export interface ClientEnvironment {
  /** `HOLDFAST_URL`: a server elsewhere. */
  readonly url: string | null
  /** `HOLDFAST_API_KEY`: instead of the key file in the home. */
  readonly apiKey: string | null
  /** https://no-color.org */
  readonly isPlain: boolean
  /** How the person at the keyboard starts this program: `holdfast`, or through npm in a clone. */
  readonly program: string
  /** Started by npm: the directory of the clone. */
  readonly clone: string | null
  /** What was said in this environment about where the server and its key are, and is no secret. */
  readonly whereabouts: Readonly<Record<string, string>>
}

const WHEREABOUTS = ['HOLDFAST_URL', 'HOLDFAST_HOME', 'HOLDFAST_HOST', 'HOLDFAST_PORT']

export function clientEnvironment(environment: NodeJS.ProcessEnv = process.env): ClientEnvironment {
  return {
    url: environment['HOLDFAST_URL'] || null,
    apiKey: environment['HOLDFAST_API_KEY'] || null,
    isPlain: (environment['NO_COLOR'] ?? '') !== '' || environment['TERM'] === 'dumb',
    program: environment['npm_lifecycle_event'] === undefined ? 'holdfast' : 'npm run -s holdfast --',
    clone: environment['npm_lifecycle_event'] === undefined ? null : dirname(environment['npm_package_json'] ?? 'package.json'),
    whereabouts: Object.fromEntries(
      WHEREABOUTS.flatMap((name) => (environment[name] === undefined || environment[name] === '' ? [] : [[name, environment[name]]])),
    ),
  }
}
