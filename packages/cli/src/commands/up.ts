/** `holdfast up`: the server in the foreground, with the words a person needs to make a first request. */
import { loadConfig, startServer, jsonLog } from '@holdfast/server'
import type { ConfigFlags, RunningServer } from '@holdfast/server'
import { startSpinner } from '../spinner.ts'

export async function up(flags: ConfigFlags): Promise<void> {
  const config = loadConfig(flags)
  const spinner = startSpinner('looking for a backend')
  const server = await startServer(config, jsonLog(config.logLevel), spinner.say).finally(spinner.stop)
  process.stdout.write(greeting(server, config.sessions.onStop))

  const stopped = Promise.withResolvers<void>()
  const stop = () => {
    process.stderr.write('holdfast: stopping; waiting for running commands (again to stop at once)\n')
    process.once('SIGINT', () => process.exit(130))
    server.close().then(stopped.resolve, stopped.reject)
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  await stopped.promise
}

function greeting({ url, chosen, plane, newKey, keyFile }: RunningServer, onStop: 'keep' | 'suspend'): string {
  const { sessions, reattached, lost } = plane.recovered
  const key = keyFile === null ? '$HOLDFAST_API_KEY' : `$(cat ${keyFile})`
  const { limits, reasons } = chosen.capabilities
  const missing = (['cpus', 'memory', 'pids'] as const).filter((name) => !limits[name])
  return [
    ...chosen.passedOver.map((why) => `passed over ${why}`),
    `holdfast is ready at ${url} (backend: ${chosen.backend.kind} ${chosen.version})`,
    ...(newKey === null ? [] : [`admin key, shown only now: ${newKey}`]),
    ...(keyFile === null ? [] : [`the key is kept in ${keyFile}`]),
    ...(sessions === 0 ? [] : [`${sessions} sessions from before: ${reattached} with their sandbox, ${lost} whose sandbox is gone`]),
    ...missing.map(
      (name) =>
        `this backend cannot limit ${name} here, so sandboxes are refused until HOLDFAST_LIMITS_${name.toUpperCase()}=none or: ${reasons[name] ?? 'see holdfast doctor'}`,
    ),
    '',
    'run a first command:',
    `  curl -s ${url}/v1/exec -H "Authorization: Bearer ${key}" \\`,
    `    -d '{"session": "demo", "command": "echo hello from $(hostname)"}'`,
    '',
    onStop === 'keep'
      ? 'Ctrl-C stops the server; sandboxes and what runs in them go on, and the next start finds them again.'
      : 'Ctrl-C stops the server and removes its sandboxes; workspaces stay.',
    '',
  ].join('\n')
}
