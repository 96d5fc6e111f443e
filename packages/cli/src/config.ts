/** The command line's own reader of the environment: where the server is and which key to show it. The rest is the server's `loadConfig`. */

export interface ClientEnvironment {
  /** `HOLDFAST_URL`: a server elsewhere. */
  readonly url: string | null
  /** `HOLDFAST_API_KEY`: instead of the key file in the home. */
  readonly apiKey: string | null
}

export function clientEnvironment(environment: NodeJS.ProcessEnv = process.env): ClientEnvironment {
  return { url: environment['HOLDFAST_URL'] || null, apiKey: environment['HOLDFAST_API_KEY'] || null }
}
