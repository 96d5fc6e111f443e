/** `holdfast mcp add|ls|rm|…`: MCP servers that run in boxes. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { McpServerConfig, McpServerRecord, McpUseOptions } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { findSession, targetOf } from '../find-session.ts'
import { EXIT_REFUSED } from '../exit-code.ts'
import { note } from '../failure.ts'
import { withFormat, withOutput } from '../flags/output-flags.ts'
import { assignment } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { isNamedByFlags, namedSession, withSession, wrongUse } from '../flags/session-flags.ts'
import type { SessionFlags } from '../flags/session-flags.ts'
import { readJson, readServersFile } from '../mcp/servers-file.ts'
import { callText, logText, runColumns, serverColumns, serverRows, toolColumns } from '../output/mcp-table.ts'
import { printList, structured, write } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import { facts, table } from '../output/table.ts'
import { surfaceOf } from '../output/tint.ts'
import { wireNames } from '../output/wire-names.ts'
import { startSpinner } from '../spinner.ts'

type Flags = ServerFlags & OutputFlags
type UseFlags = ServerFlags & SessionFlags & Pick<OutputFlags, 'output'> & { readonly profile?: string }

const nameOf = ({ name }: McpServerRecord) => name

export function addMcpServers(mcp: Command): void {
  addAdd(mcp)
  addList(mcp)
  addRemove(mcp)
  addRestart(mcp)
  addLogs(mcp)
  addInspect(mcp)
  addCall(mcp)
}

function addAdd(mcp: Command): void {
  interface AddFlags extends Flags {
    readonly file?: string
    readonly env?: Readonly<Record<string, string>>
    readonly scope?: McpServerConfig['scope']
    readonly cwd?: string
    readonly image?: string
    readonly network?: 'on' | 'off'
    readonly hostPath?: string
  }
  const add = mcp
    .command('add')
    .description('configure an MCP server, or all servers of a configuration file of Claude, Cursor or VS Code')
    .argument('[name]', 'what it is called')
    .argument('[command...]', 'the program and its arguments, after --; it is run in the box, without a shell')
    .option('-f, --file <path>', 'a file with mcpServers, or with servers; - for stdin')
    .option('-e, --env <name=value>', 'a variable of its environment; may be repeated', assignment)
    .addOption(
      new Option('--scope <scope>', 'who shares one process: a conversation (unless given), or more').choices([
        'session',
        'pipeline',
        'tenant',
        'shared',
      ]),
    )
    .option('--cwd <path>', 'where it is started')
    .option('--image <image>', 'what the root of its box is made of')
    .addOption(new Option('--network <network>', 'of its box').choices(['on', 'off']))
    .option('--host-path <path>', 'the directory of its project on the host of the server')
    .addHelpText(
      'after',
      `
Examples:
  holdfast mcp add everything -- npx -y @modelcontextprotocol/server-everything
  holdfast mcp add notes --scope tenant -e NOTES_TOKEN=secret -- python3 /srv/projects/notes/server.py
  holdfast mcp add --file claude_desktop_config.json`,
    )
  withServer(withOutput(add)).action(async (name: string | undefined, command: readonly string[], flags: AddFlags) => {
    const { file } = flags
    if ((file === undefined) === (name === undefined)) throw wrongUse('give a name and after -- a command, or --file')
    if (file !== undefined) {
      const put = await (await openClient(flags)).mcp.putAll(await readServersFile(file))
      return printList(put, { columns: serverColumns, idOf: nameOf }, flags)
    }
    const put = await (await openClient(flags)).mcp.put(name ?? '', configOf(command, flags))
    await printList([put], { columns: serverColumns, idOf: nameOf }, flags)
  })

  function configOf([program, ...args]: readonly string[], { env, scope, cwd, image, network, hostPath }: AddFlags): McpServerConfig {
    if (program === undefined) throw wrongUse('give the command after --')
    const box = {
      ...(image === undefined ? {} : { image }),
      ...(network === undefined ? {} : { network }),
      ...(hostPath === undefined ? {} : { host_path: hostPath }),
    }
    return { command: program, args, env, scope, cwd, ...(Object.keys(box).length === 0 ? {} : { box }) }
  }
}

function addList(mcp: Command): void {
  const list = mcp
    .command('ls')
    .alias('list')
    .description('list MCP servers, and how their processes are')
    .addHelpText('after', `\nExample:\n  holdfast mcp ls`)
  withServer(withOutput(list)).action(async (flags: Flags) =>
    printList(await (await openClient(flags)).mcp.list(), { columns: serverColumns, idOf: nameOf }, flags),
  )
}

function addRemove(mcp: Command): void {
  const remove = mcp
    .command('rm')
    .description('remove an MCP server, and end what runs of it')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast mcp rm everything`)
  withServer(remove).action(async (name: string, flags: ServerFlags) => (await openClient(flags)).mcp.remove(name))
}

function addRestart(mcp: Command): void {
  const restart = mcp
    .command('restart')
    .description('end whatever runs of an MCP server and forget its failures; the next call starts it anew')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast mcp restart everything`)
  withServer(withOutput(restart)).action(async (name: string, flags: Flags) =>
    printList([await (await openClient(flags)).mcp.restart(name)], { columns: serverColumns, idOf: nameOf }, flags),
  )
}

function addLogs(mcp: Command): void {
  const logs = mcp
    .command('logs')
    .description('what is told of an MCP server: what was done with it, its stderr, and what it printed that is no message')
    .argument('<name>', 'its name')
    .option('-s, --session <session>', 'only what ran in this session: its id or key')
    .addHelpText('after', `\nExamples:\n  holdfast mcp logs everything\n  holdfast mcp logs everything -s demo`)
  withServer(withFormat(logs)).action(async (name: string, flags: Flags & SessionFlags) => {
    const client = await openClient(flags)
    const session = flags.session === undefined ? null : await findSession(client, namedSession(undefined, flags))
    const items = (await client.mcp.logs(name)).filter(({ sessionId }) => session === null || sessionId === session.id)
    if (flags.output !== 'table') return printList(items, { columns: [], idOf: ({ scopeKey }) => scopeKey }, flags)
    if (items.length === 0) note(`nothing of ${name} was started since the server was, or nothing that you may read`)
    await write(items.map((item) => logText(item, items.length > 1)).join(''))
  })
}

function addInspect(mcp: Command): void {
  const inspect = mcp
    .command('inspect')
    .description('show an MCP server, its processes, and, started in a session, its tools')
    .argument('<name>', 'its name')
    .addHelpText(
      'after',
      `\nExamples:\n  holdfast mcp inspect everything\n  holdfast mcp inspect everything --session demo --profile network_basic`,
    )
  withServer(withFormat(withConversation(inspect))).action(async (name: string, flags: UseFlags) => {
    const client = await openClient(flags)
    const known = await client.mcp.get(name)
    const isNamed = isNamedByFlags(flags) || flags.pipeline !== undefined
    const isStarted = !known.disabled && (isNamed || known.scope === 'tenant' || known.scope === 'shared')
    const tools = isStarted ? (await started(name, flags)).tools : null
    const server = isStarted ? await client.mcp.get(name) : known
    // `tools` are the rules; what is offered is printed as its server describes it.
    if (flags.output !== 'table') return write(await structured({ ...named(server), offered: tools }, flags.output))
    const surface = surfaceOf(process.stdout)
    await write(facts(serverRows(server), surface))
    if (server.runs.length > 0) await write(`\n${table(server.runs, runColumns, surface)}`)
    if (tools !== null) return write(`\n${table(tools, toolColumns, surface)}`)
    if (!server.disabled) note(`to see its tools, name a ${server.scope === 'pipeline' ? 'pipeline: --pipeline' : 'session: --session'}`)
  })
}

function addCall(mcp: Command): void {
  const call = mcp
    .command('call')
    .description('call a tool of an MCP server')
    .argument('<name>', 'the server')
    .argument('<tool>', 'the tool')
    .argument('[arguments]', 'a JSON object; - for stdin', '{}')
    .addHelpText(
      'after',
      `
Examples:
  holdfast mcp call everything echo '{"message":"hello"}' --session demo
  holdfast mcp call notes search - --pipeline support < arguments.json`,
    )
  withServer(withFormat(withConversation(call))).action(async (name: string, tool: string, input: string, flags: UseFlags) => {
    const asked = await readJson(input)
    await started(name, flags)
    const client = await openClient(flags)
    const spinner = startSpinner(`calling ${tool}`)
    const result = await client.mcp.call(name, tool, asked, await conversationOf(flags)).finally(spinner.stop)
    await write(flags.output === 'table' ? callText(result) : await structured(result, flags.output))
    if (result.isError === true) process.exitCode = EXIT_REFUSED
  })
}

/** With word of what takes long. */
async function started(name: string, flags: UseFlags) {
  const client = await openClient(flags)
  const spinner = startSpinner(`starting ${name}`)
  const onProgress = (line: string) => spinner.say(`${name}: ${line}`)
  return client.mcp.start(name, { ...(await conversationOf(flags)), onProgress }).finally(spinner.stop)
}

/** With what counts when the session is made for the call. */
function withConversation(command: Command): Command {
  return withSession(command)
    .option('--pipeline <name>', 'a configured pipeline: whose server it is, or whose scope makes the key')
    .option('--profile <name>', 'of the session, if it is made now; see profiles')
}

async function conversationOf(flags: UseFlags): Promise<McpUseOptions> {
  const { pipeline, profile } = flags
  if (!isNamedByFlags(flags)) return { pipeline, profile }
  const target = await targetOf(await openClient(flags), namedSession(undefined, flags), profile !== undefined)
  return { ...target, pipeline, profile }
}

/** In the names of the API's documents. */
function named(server: McpServerRecord): object {
  const printed = wireNames(server)
  return typeof printed === 'object' && printed !== null ? printed : {}
}
