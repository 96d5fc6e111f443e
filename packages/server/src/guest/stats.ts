/**
 * What the sandbox uses right now, as the guest's `stats` applet prints it: one string of `key=value` words.
 *
 * ingress → access → policy → sessions → sandboxes → [guest] → result
 */
import { runApplet } from './applet.ts'
import type { Channel } from './channel.ts'
import type { Stats } from './inside.ts'
import { RecordParser } from './records.ts'
import { violated } from './violation.ts'

export async function readStats(channel: Channel, path: string, uid?: number): Promise<Stats> {
  const values = new Map<string, number>()
  const parser = new RecordParser(1, ([line = '']) => {
    for (const word of line.split(' ').slice(0, 100)) {
      const [key = '', value = ''] = word.split('=', 2)
      if (/^\d{1,19}$/.test(value)) values.set(key, Number(value))
    }
  })
  await runApplet(channel, { argv: ['stats', path], path, uid }, (bytes) => parser.push(bytes))
  const required = (key: string): number => {
    const value = values.get(key)
    if (value === undefined) throw violated(`the stats have no number for ${key}`)
    return value
  }
  return {
    cpuUsec: required('cpu_usec'),
    memoryBytes: required('memory_bytes'),
    memoryLimitBytes: values.get('memory_limit') || null,
    pids: required('pids'),
    diskUsedBytes: required('disk_used'),
    diskTotalBytes: required('disk_total'),
    uptimeMs: required('uptime_ms'),
  }
}
