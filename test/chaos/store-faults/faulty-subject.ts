/** A database under test, the ways it can fail, and what its records say. */
export interface Fault {
  /** How often it is inflicted in the long form. */
  readonly rounds: number
  /** Resolves once the database answers again. */
  inflict(round: number): Promise<void>
}

export interface ExecutionRecord {
  readonly id: string
  readonly status: string
  readonly exitCode: number | null
}

export interface FaultySubject {
  readonly name: string
  readonly faults: Readonly<Record<string, Fault>>
  /** `HOLDFAST_*` settings that make a server use it. */
  readonly settings: Readonly<Record<string, string>>
  /** Where the home of the server may lie; `undefined`: anywhere. */
  readonly stateDir?: string
  /** The home of the server that runs on it. */
  useHome(home: string): void
  /** Read from the database itself, past the server. */
  records(): Promise<readonly ExecutionRecord[]>
  close(): Promise<void>
}
