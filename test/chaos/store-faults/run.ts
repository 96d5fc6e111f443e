/**
 * `npm run test:long -- store-faults`: PostgreSQL restarted, killed, its connections terminated, cut off and frozen, ten times each, and SQLite
 * locked and its disk filled, twenty times each, under eight callers. `HOLDFAST_FAULT_ROUNDS` chooses fewer.
 */
import { cleanUp, cleanUpAbandoned } from '../../environment/clean-up.ts'
import { prepareMachine } from '../../environment/machine.ts'
import { postgresObstacle } from '../../environment/postgres.ts'
import { createRunDirectory } from '../../environment/run-directory.ts'
import { complaintsOf, runCampaign } from './campaign.ts'
import type { FaultReport } from './campaign.ts'
import { openFaultyPostgres } from './faulty-postgres.ts'
import { openFullSqlite, openLockedSqlite } from './faulty-sqlite.ts'
import type { FaultySubject } from './faulty-subject.ts'

const say = (line: string) => void process.stdout.write(`${line}\n`)
const { HOLDFAST_FAULT_ROUNDS: chosen } = process.env
const only = process.argv.slice(2)

const subjects: Readonly<Record<string, () => Promise<FaultySubject | null>>> = {
  postgres: async () => (postgresObstacle() === null ? openFaultyPostgres() : null),
  locked: async () => openLockedSqlite(),
  full: async () => openFullSqlite(),
}

function table(reports: readonly FaultReport[]): string {
  const row = (...cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return [
    row('database', 'fault', 'rounds', 'commands', 'refused', 'still running', 'wrong end', 'no record', 'slowest ms'),
    row(...Array.from({ length: 9 }, () => '---')),
    ...reports.map(({ subject, fault, rounds, commands, refused, stillRunning, wrong, missing, slowestMs }) =>
      row(subject, fault, rounds, commands, refused, stillRunning, wrong, missing, slowestMs),
    ),
  ].join('\n')
}

await cleanUpAbandoned()
const stateDir = await createRunDirectory()
try {
  const [under] = await prepareMachine(stateDir, ['bubblewrap'])
  if (under === undefined || under.skipReason !== null) throw new Error(under?.skipReason ?? 'there is no bubblewrap')
  const reports: FaultReport[] = []
  for (const [name, open] of Object.entries(subjects)) {
    if (only.length > 0 && !only.includes(name)) continue
    const subject = await open()
    if (subject === null) {
      say(`${name}: left out, this machine cannot have it`)
      continue
    }
    try {
      reports.push(...(await runCampaign(subject, { under, stateDir, say, ...(chosen === undefined ? {} : { rounds: Number(chosen) }) })))
    } finally {
      await subject.close()
    }
  }
  const complaints = complaintsOf(reports)
  say([table(reports), ...complaints.map((complaint) => `✗ ${complaint}`)].join('\n'))
  if (complaints.length > 0) process.exitCode = 1
} finally {
  await cleanUp(stateDir)
}
