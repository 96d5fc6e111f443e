/**
 * What `holdfast up` says when the server is ready: where it is, what it found, and two lines to try.
 */
import type { RunningServer } from '@holdfast/server'

export interface GreetingWords {
  /** How this program is started here. */
  readonly program: string
  readonly onStop: 'keep' | 'suspend'
  /** What a call from another terminal needs before and after the program's name. */
  readonly calls: { readonly before: string; readonly after: string }
  /** A person reads it now. Anything else, such as a journal, keeps what it is given. */
  readonly isTerminal: boolean
}

export type Greeted = Pick<RunningServer, 'url' | 'chosen' | 'newKey' | 'keyFile' | 'obstacles'> & {
  readonly plane: { readonly recovered: RunningServer['plane']['recovered'] }
}

export function greeting(
  { url, chosen, plane, newKey, keyFile, obstacles }: Greeted,
  { program, onStop, calls, isTerminal }: GreetingWords,
): string {
  const key = keyFile === null ? '$HOLDFAST_API_KEY' : `$(cat ${keyFile})`
  const body = '{"scope":"chat","variables":{"launcher_type":"group","launcher_id":"123456"},"argv":["python3","-c","print(6*7)"]}'
  const chat = '--scope chat --var launcher_type=group --var launcher_id=123456'
  return [
    ...chosen.passedOver.map((why) => `passed over ${why}`),
    `holdfast is ${obstacles.length === 0 ? 'ready' : 'listening'} at ${url} (backend: ${chosen.backend.kind} ${chosen.version})`,
    ...(obstacles.length === 0
      ? []
      : ['NOT READY: sandboxes are refused, because', ...obstacles.map((line) => `  ${line}`), ...pasteLines(program, obstacles)]),
    ...(newKey === null || !isTerminal ? [] : [`admin key, shown only now: ${newKey}`]),
    ...(keyFile === null ? [] : [`the admin key is in the file ${keyFile}`]),
    `the API is described at ${url}/docs`,
    ...recoveredWords(plane.recovered),
    ...networkLines(chosen.capabilities, obstacles),
    '',
    `${obstacles.length === 0 ? 'Run' : 'After that, run'} Python for the chat group_123456, with curl or with this program:`,
    `  curl -s ${url}/v1/exec -H "Authorization: Bearer ${key}" -H 'Content-Type: application/json' -d '${body}'`,
    `  ${calls.before}${program} exec${calls.after} ${chat} -- python3 -c 'print(6*7)'`,
    '',
    onStop === 'keep'
      ? 'Ctrl-C stops the server; sandboxes and what runs in them go on, and the next start finds them again.'
      : 'Ctrl-C stops the server and removes its sandboxes; workspaces stay.',
    '',
  ].join('\n')
}

/** Commands that start it in a way that is ready. */
function pasteLines(program: string, obstacles: readonly string[]): readonly string[] {
  const says = (words: string) => obstacles.some((line) => line.includes(words))
  return [
    ...(says('Delegate=yes') ? [`  with limits:    systemd-run --user --scope -p Delegate=yes ${program} up`] : []),
    ...(says('--limits none') ? [`  without limits: ${program} up --limits none`] : []),
  ]
}

/** Not an obstacle while the network is off by default, but the first `--network on` would be refused. */
function networkLines({ networkOn, reasons }: Greeted['chosen']['capabilities'], obstacles: readonly string[]): readonly string[] {
  if (networkOn || obstacles.some((line) => line.includes(reasons.networkOn ?? ''))) return []
  return [`no sandbox can have a network until this is fixed: ${reasons.networkOn}`]
}

function recoveredWords({ sessions, reattached, lost }: RunningServer['plane']['recovered']): readonly string[] {
  if (sessions === 0) return []
  const parts = [
    ...(reattached === 0 ? [] : [`${reattached} with what ran in ${reattached === 1 ? 'it' : 'them'}`]),
    ...(lost === 0 ? [] : [`${lost} whose sandbox is gone`]),
  ]
  return [`took up ${sessions} ${sessions === 1 ? 'session' : 'sessions'} from before${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`]
}
