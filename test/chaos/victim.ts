/**
 * The server that is killed: makes sandboxes, starts what prints numbered lines in them, and says what it did.
 *
 * One JSON plan comes as its argument; what it did goes to stdout, one JSON line each. It never ends by itself. A
 * thing is said before it is begun ("creating") and after it is done ("created", "started", "destroying", "destroyed").
 */
import { writeSync } from 'node:fs'
import { connectInside } from '../../packages/server/src/guest/guest-inside.ts'
import type { BackendNeeds } from '../../packages/server/src/sandboxes/backend.ts'
import type { SandboxSpec } from '../../packages/server/src/sandboxes/spec.ts'
import type { BackendUnderTest } from '../environment/machine.ts'
import { printingScript } from './numbered-lines.ts'
import { openBackend } from './open-backend.ts'

export interface VictimPlan {
  readonly under: BackendUnderTest
  readonly needs: BackendNeeds
  readonly spec: SandboxSpec
  readonly names: readonly string[]
}

export interface Deed {
  readonly did: 'ready' | 'creating' | 'created' | 'started' | 'destroying' | 'destroyed'
  readonly name: string
  readonly bootId?: string
  /** Tag of what was started. */
  readonly tag?: string
}

function say(deed: Deed): void {
  // Unbuffered: what was said is known to the killer even when the next instruction never runs.
  writeSync(1, `${JSON.stringify(deed)}\n`)
}

async function live({ under, needs, spec, names }: VictimPlan): Promise<void> {
  const backend = openBackend(under, needs)
  await backend.probe()
  say({ did: 'ready', name: '' })
  await Promise.all(
    names.map(async (name, index) => {
      say({ did: 'creating', name })
      const sandbox = await backend.create(name, spec)
      const inside = await connectInside(await sandbox.dial())
      say({ did: 'created', name, bootId: inside.bootId })
      for (const speed of ['slow', 'fast'] as const) {
        const execution = await inside.exec({ argv: ['/bin/sh', '-c', printingScript(speed)], tag: speed })
        say({ did: 'started', name, tag: speed })
        // The fast one is read by nobody here: it waits, and fills its journal once this process is dead.
        if (speed === 'slow') void execution.drain(() => undefined).catch(() => undefined)
      }
      // The last one also dies in the middle of a removal, now and then.
      if (index === names.length - 1) {
        say({ did: 'destroying', name })
        await backend.destroy(name)
        say({ did: 'destroyed', name })
      }
    }),
  )
}

const [plan] = process.argv.slice(2)
if (plan === undefined) throw new Error('the plan is missing')
setInterval(() => undefined, 1000) // stay until killed
await live(JSON.parse(plan))
