/**
 * What a reader must know about the machine to weigh the figures. Nothing that names it: no host name, no path.
 */
import { cpus, loadavg, release, totalmem } from 'node:os'
import { rounded } from './statistics.ts'

export interface MachineFacts {
  readonly cores: number
  readonly processor: string
  readonly memoryGigabytes: number
  readonly kernel: string
  readonly node: string
  /** Of the minute before the run: above the number of cores somebody else was at work. */
  readonly loadBefore: number
}

export function machineFacts(): MachineFacts {
  const processors = cpus()
  return {
    cores: processors.length,
    processor: processors[0]?.model.trim() ?? 'unknown',
    memoryGigabytes: rounded(totalmem() / 1e9),
    kernel: release(),
    node: process.version,
    loadBefore: rounded(loadavg()[0] ?? 0, 2),
  }
}
