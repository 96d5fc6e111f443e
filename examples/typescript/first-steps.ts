/**
 * First steps: one sandbox for each chat, a file that stays, a command that fails, one that takes too long, output as it comes.
 *
 *     node examples/typescript/first-steps.ts
 *
 * It prints:
 *
 *     group_123456: 42
 *     the next command finds: hello
 *     another chat finds: cat: note.txt: No such file or directory
 *     a failure is a result: exit code 3, "oops"
 *     one that takes too long: timed_out
 *     step 1
 *     step 2
 *     step 3
 */
import { Holdfast } from '@holdfast/sdk'

const holdfast = new Holdfast() // HOLDFAST_URL, HOLDFAST_API_KEY

/** The session of a group: found, or made. What is released with its block would otherwise stay for the next message. */
const chat = (launcherId: number) =>
  holdfast.sessions.getOrCreate({
    scope: 'chat',
    variables: { launcher_type: 'group', launcher_id: launcherId },
    release: 'on-dispose',
  })

await using session = await chat(123456)
const python = await session.commands.run(['python3', '-c', 'print(6*7)'], { timeoutMs: 10_000 })
console.log(`${session.key}: ${python.stdout.trim()}`)

await session.commands.run('echo hello > note.txt')
console.log(`the next command finds: ${(await session.commands.run('cat note.txt')).stdout.trim()}`)

await using other = await chat(7)
console.log(`another chat finds: ${(await other.commands.run('cat note.txt')).stderr.trim()}`)

const failed = await session.commands.run('echo oops >&2; exit 3')
console.log(`a failure is a result: exit code ${failed.exitCode}, ${JSON.stringify(failed.stderr.trim())}`)

const slow = await session.commands.run('sleep 60', { timeoutMs: 200 })
console.log(`one that takes too long: ${slow.status}`)

await session.commands.run('for i in 1 2 3; do echo step $i; done', { onStdout: (text) => void process.stdout.write(text) })
