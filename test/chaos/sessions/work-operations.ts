/**
 * What a server does in a session: commands, processes, their cancellation.
 */
import { printingScript } from '../numbered-lines.ts'
import { endlessCommand, journalCommand, readySession, runCommand, shell, startCommand, untilPrinted, untilWritten } from './actions.ts'
import { checkNumberedOutput } from './numbered-output.ts'
import type { Operation } from './operation.ts'

export const WORK_OPERATIONS = {
  exec: {
    async prepare(life, say) {
      say({ session: (await readySession(life, 'a')).id, ends: true })
    },
    async act(life, say, { session }) {
      const end = await runCommand(life, life.caller, String(session), journalCommand(), (execution) => say({ execution }))
      say({ status: end.status })
      await untilWritten(life)
    },
    async check({ facts, executionOf, expect }) {
      const execution = await executionOf('execution')
      if (facts['status'] !== undefined) expect(execution?.status === facts['status'], `its end has become ${execution?.status}`)
      if (execution !== null) expect(execution.status === 'completed', `it is ${execution.status}`)
    },
  },

  'exec with stdin': {
    async prepare(life, say) {
      say({ session: (await readySession(life, 'a')).id, ends: true, tearsInput: true })
    },
    async act(life, say, { session }) {
      const command = { ...shell('echo begin >> journal; cat > got; echo end >> journal; exit 7'), stdin: 'x'.repeat(300_000) }
      await runCommand(life, life.caller, String(session), command, (execution) => say({ execution }))
    },
    async check({ sessionOf, executions, file, expect }) {
      const session = await sessionOf('session')
      for (const { status } of session === null ? [] : await executions(session.id)) {
        if (status === 'completed') expect((await file(session?.id ?? '', 'got'))?.length === 300_000, 'torn input looks like a whole one')
      }
    },
  },

  'start a process': {
    async prepare(life, say) {
      say({ session: (await readySession(life, 'a')).id })
    },
    async act(life, say, { session }) {
      const process = await startCommand(life, String(session), shell(printingScript('slow')), 'printer')
      say({ process })
      await untilPrinted(life, String(session), process, 200)
    },
    async check(aftermath) {
      const { executionOf, expect } = aftermath
      const execution = await executionOf('process')
      if (execution === null) return
      expect(execution.status === 'running' && execution.name === 'printer', `it is ${execution.status}`)
      await checkNumberedOutput(aftermath, execution.sessionId, execution.id, 400)
    },
  },

  'cancel an execution': {
    async prepare(life, say) {
      const { id } = await readySession(life, 'a')
      const [doomed, other] = [await startCommand(life, id, endlessCommand()), await startCommand(life, id, endlessCommand(), 'other')]
      say({ session: id, doomed, other, asked: true })
    },
    async act(life, say, { session, doomed }) {
      const { verified } = await life.plane.sessions.commands.cancel(life.caller, String(session), String(doomed), 0)
      say({ acknowledged: verified })
    },
    async check({ facts, executionOf, expect }) {
      const doomed = await executionOf('doomed')
      if (facts['acknowledged'] === true) expect(doomed?.status === 'cancelled', `the cancelled one is ${doomed?.status}`)
      expect(['running', 'cancelled'].includes(doomed?.status ?? ''), `the cancelled one is ${doomed?.status}`)
      expect((await executionOf('other'))?.status === 'running', 'the other one does not run')
    },
  },

  'cancel the work': {
    async prepare(life, say) {
      const { id } = await readySession(life, 'a')
      const [doomed, other] = [await startCommand(life, id, endlessCommand()), await startCommand(life, id, endlessCommand(), 'other')]
      await runCommand(life, life.caller, id, shell(`setsid sh -c 'while :; do sleep 1; done' > /dev/null 2>&1 & exit 7`))
      say({ session: id, doomed, other, asked: true })
    },
    async act(life, say, { session }) {
      const { verified } = await life.plane.sessions.steering.cancelWork(life.caller, String(session), { graceMs: 0 })
      say({ acknowledged: verified })
    },
    async check({ facts, sessionOf, executionOf, expect }) {
      const doomed = await executionOf('doomed')
      if (facts['acknowledged'] === true) expect(doomed?.status === 'cancelled', `the cancelled one is ${doomed?.status}`)
      expect(['running', 'cancelled'].includes(doomed?.status ?? ''), `the cancelled one is ${doomed?.status}`)
      expect((await executionOf('other'))?.status === 'running', 'the process does not run')
      expect((await sessionOf('session'))?.state === 'active', 'the session does not live on')
    },
  },
} as const satisfies Readonly<Record<string, Operation>>
