/**
 * What the kernel says about processes of this host, sandboxed ones included.
 */
import { readdirSync, readFileSync } from 'node:fs'

/** The process whose arguments contain the text. */
export function findProcess(argumentText: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const found = pids.find((pid) => readProc(pid, 'cmdline').split('\0').includes(argumentText))
  if (found === undefined) throw new Error(`no process has the argument ${argumentText}`)
  return Number(found)
}

/** The first process of the sandbox that the process lies in: number 1 in its own pid namespace. */
export function initOf(pid: number): number {
  for (let current = pid; current > 1; current = Number(statusField(current, 'PPid'))) {
    if (statusField(current, 'NSpid').split('\t').at(-1) === '1') return current
  }
  throw new Error(`process ${pid} lies in no sandbox`)
}

export function residentBytes(pid: number): number {
  return Number.parseInt(statusField(pid, 'VmRSS'), 10) * 1_024
}

/** In user and kernel mode together, with all its threads; the kernel counts in hundredths of a second. */
export function processorSeconds(pid: number): number {
  // The name, in parentheses, may hold anything.
  const fields = readProc(String(pid), 'stat')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function statusField(pid: number, name: string): string {
  const line = readProc(String(pid), 'status')
    .split('\n')
    .find((candidate) => candidate.startsWith(`${name}:\t`))
  if (line === undefined) throw new Error(`process ${pid} has no ${name}: it is gone`)
  return line.slice(name.length + 2).trim()
}

function readProc(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return '' // it ended between listing and reading
  }
}
