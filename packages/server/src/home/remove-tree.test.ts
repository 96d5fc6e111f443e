/** Trees as hostile programs leave them, and the server that has to get rid of them. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeTree } from './remove-tree.ts'

describe('removing a tree', () => {
  let ground = ''
  beforeAll(() => (ground = mkdtempSync(join(tmpdir(), 'holdfast-remove-'))))
  afterAll(() => rmSync(ground, { recursive: true, force: true }))

  function tree(name: string): string {
    const top = join(ground, name)
    mkdirSync(join(top, 'files'), { recursive: true })
    return top
  }

  it('takes nothing there, and a file, as they are', async () => {
    await removeTree(join(ground, 'nothing'))
    writeFileSync(join(ground, 'file'), 'text')
    await removeTree(join(ground, 'file'))
    expect(existsSync(join(ground, 'file'))).toBe(false)
  })

  it('removes what lies deeper than a path can say', async () => {
    const top = tree('deep')
    // Built from the inside out: no path here is ever long, the tree's is 20 times what the kernel takes.
    const name = 'd'.repeat(200)
    for (let depth = 0; depth < 400; depth += 1) {
      mkdirSync(join(top, 'next', name), { recursive: true })
      writeFileSync(join(top, 'next', 'file'), 'text')
      renameSync(join(top, 'files'), join(top, 'next', name, 'inner'))
      renameSync(join(top, 'next'), join(top, 'files'))
    }
    await removeTree(top)
    expect(existsSync(top)).toBe(false)
  })

  it('removes names that are no text', async () => {
    const top = tree('bytes')
    for (const name of [Buffer.from([0xff, 0xfe]), Buffer.from('größe'), Buffer.from('a\nb')]) {
      const path = Buffer.concat([Buffer.from(`${top}/files/`), name])
      mkdirSync(path)
      writeFileSync(Buffer.concat([path, Buffer.from('/'), name]), 'text')
    }
    await removeTree(top)
    expect(existsSync(top)).toBe(false)
  })

  it('removes a directory of more names than one look takes', async () => {
    const top = tree('many')
    for (let index = 0; index < 1_000; index += 1) writeFileSync(join(top, 'files', String(index)), '')
    await removeTree(top)
    expect(existsSync(top)).toBe(false)
  })

  it('removes links and leaves what they point to', async () => {
    const top = tree('links')
    const kept = join(ground, 'kept')
    mkdirSync(kept)
    writeFileSync(join(kept, 'file'), 'text')
    symlinkSync(kept, join(top, 'files', 'link'))
    symlinkSync(kept, join(top, 'link'))
    await removeTree(top)
    expect(existsSync(top)).toBe(false)
    expect(readFileSync(join(kept, 'file'), 'utf8')).toBe('text')
  })

  it('removes directories whose owner took every right away', async () => {
    const top = tree('closed')
    const inner = join(top, 'files', 'inner')
    mkdirSync(join(inner, 'innermost'), { recursive: true })
    writeFileSync(join(inner, 'innermost', 'file'), 'text')
    for (const path of [join(inner, 'innermost'), inner, join(top, 'files'), top]) chmodSync(path, 0)
    await asNobody(top)
    expect(existsSync(top)).toBe(false)
  })

  /** Root may do everything, so the one who may not does it. */
  async function asNobody(top: string): Promise<void> {
    if (process.getuid?.() !== 0) return removeTree(top)
    chmodSync(ground, 0o777)
    spawnSync('chown', ['-R', '65534:65534', top])
    process.seteuid?.(65534)
    try {
      await removeTree(top)
    } finally {
      process.seteuid?.(0)
    }
  }
})
