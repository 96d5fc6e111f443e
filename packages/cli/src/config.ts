/** The command line's own reader of the environment: where the server is and which key to show it. The rest is the server's `loadConfig`. */

export interface ClientEnvironment {
  /** `HOLDFAST_URL`: a server elsewhere. */
  readonly url: string | null
  /** `HOLDFAST_API_KEY`: instead of the key file in the home. */
  readonly apiKey: string | null
  /** https://no-color.org */
  readonly isPlain: boolean
  /** How the person at the keyboard starts this program: `holdfast`, or through npm in a clone. */
  readonly program: string
}

export function clientEnvironment(environment: NodeJS.ProcessEnv = process.env): ClientEnvironment {
  return {
    url: environment['HOLDFAST_URL'] || null,
    apiKey: environment['HOLDFAST_API_KEY'] || null,
    isPlain: (environment['NO_COLOR'] ?? '') !== '' || environment['TERM'] === 'dumb',
    program: environment['npm_lifecycle_event'] === undefined ? 'holdfast' : 'npm run -s holdfast --',
  }
}
