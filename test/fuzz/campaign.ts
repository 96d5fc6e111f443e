/**
 * Tries requests one after another until one is answered wrongly, then looks for the smallest that is; at the end looks for what is left.
 */
import fc from 'fast-check'
import type { Answer, Sender, Sent } from './answer.ts'
import type { ApiDocument } from './api-document.ts'
import { headerOf } from './attempt.ts'
import type { Attempt, Header } from './attempt.ts'
import type { Clients } from './clients.ts'
import { curlLine, wireLine } from './curl-line.ts'
import type { Judge } from './judge.ts'
import { requestsTo } from './requests.ts'
import type { Tally } from './tally.ts'
import type { World } from './world.ts'

/** Answers that a repetition may get another one of. */
const PASSING = new Set([409, 429, 499, 503])

export interface CampaignNeeds {
  readonly port: number
  readonly document: ApiDocument
  readonly sender: Sender
  readonly clients: Clients
  readonly world: World
  readonly judge: Judge
  readonly tally: Tally
  /** What the server logged lately. */
  readonly recentLog: () => readonly string[]
  /** Where complaints are gathered, each kind once, instead of ending at the first. */
  readonly survey: Map<string, string> | null
}

export interface CampaignOptions {
  readonly requests: number
  readonly seed: number
  /** Of fast-check, to go on from a counterexample. */
  readonly path?: string | undefined
}

/** Rejects with the seed, the complaint and the smallest request. */
export async function tryRequests(needs: CampaignNeeds, { requests, seed, path }: CampaignOptions): Promise<void> {
  const property = fc.asyncProperty(requestsTo(needs.document), (attempt) => tryOne(needs, attempt))
  const verdict = await fc.check(property, { numRuns: requests, seed, ...(path === undefined ? {} : { path }) })
  if (!verdict.failed) return
  const { errorInstance, counterexamplePath, numShrinks } = verdict
  const reason = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  throw new Error(`seed ${seed}, path ${counterexamplePath}, made smaller ${numShrinks} times\n${reason}`, { cause: errorInstance })
}

async function tryOne(needs: CampaignNeeds, attempt: Attempt): Promise<void> {
  const { world, tally, port, sender } = needs
  await world.tend()
  if (attempt.wire !== null) {
    const { wire } = attempt
    const answer = await sender.sendBytes(wire)
    tally.add(attempt, answer)
    if (answer !== null) complain(needs, attempt, answer, wireLine(port, wire))
    return alive(needs, wireLine(port, wire))
  }
  const sent = sentOf(needs, attempt)
  const first = await ask(needs, attempt, sent)
  if (attempt.replay === null) return
  const again = await ask(needs, attempt, sent)
  if (again.status !== first.status && !PASSING.has(first.status) && !PASSING.has(again.status))
    throw new Error(`the same request again was answered with ${again.status} after ${first.status}\n${lineOf(needs, attempt, sent)}`)
  await ask(needs, attempt, { ...sent, body: resolved(needs, attempt.replay, attempt.target) })
}

async function ask(needs: CampaignNeeds, attempt: Attempt, sent: Sent): Promise<Answer> {
  const line = lineOf(needs, attempt, sent)
  const answer = await needs.sender.send(sent).catch((cause: unknown) => {
    throw new Error([`was not answered: ${String(cause)}`, line, ...needs.recentLog()].join('\n'), { cause })
  })
  needs.tally.add(attempt, answer)
  needs.world.notice(attempt, answer)
  complain(needs, attempt, answer, line)
  return answer
}

function complain({ judge, recentLog, survey }: CampaignNeeds, attempt: Attempt, answer: Answer, line: string): void {
  const faults = judge(attempt, answer)
  if (faults.length === 0) return
  const head = `${attempt.manner}, as ${attempt.principal}: the answer ${faults.join('; ')}`
  const shown = [head, line, `${answer.status} ${JSON.stringify(answer.headers)}`, answer.bytes.toString().slice(0, 1_000), ...recentLog()]
  if (survey === null) throw new Error(shown.join('\n'))
  for (const fault of faults) survey.set(`${attempt.operation.name} ${fault}`, shown.join('\n'))
}

/** What it says afterwards proves that it lives. */
async function alive({ sender, recentLog }: CampaignNeeds, line: string): Promise<void> {
  const { status } = await sender.send({ method: 'GET', target: '/healthz', headers: [], body: null }).catch(() => ({ status: 0 }))
  if (status !== 200) throw new Error(['afterwards the server does not answer', line, ...recentLog()].join('\n'))
}

function sentOf(needs: CampaignNeeds, attempt: Attempt): Sent {
  const { world, clients } = needs
  const { method, principal, body } = attempt
  const target = world.resolve(attempt.target, '')
  const key = clients.keyOf(principal)
  const own: readonly Header[] =
    key === null || headerOf(attempt, 'authorization') !== undefined || headerOf(attempt, 'x-api-key') !== undefined
      ? []
      : [['authorization', `Bearer ${key}`]]
  const headers = attempt.headers.map(([name, value]): Header => [name, world.resolve(value, target)])
  return { method, target, headers: [...own, ...headers], body: body === null ? null : resolved(needs, body, target) }
}

function resolved({ world }: CampaignNeeds, body: Uint8Array, target: string): Uint8Array {
  return Buffer.from(world.resolve(Buffer.from(body).toString('latin1'), target), 'latin1')
}

function lineOf({ port }: CampaignNeeds, { principal }: Attempt, sent: Sent): string {
  return curlLine(`http://127.0.0.1:${port}`, sent, principal)
}
