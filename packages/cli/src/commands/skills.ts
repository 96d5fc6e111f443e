/** `holdfast skills …`: what the models of the tenant can be taught. */
import { basename } from 'node:path'
import type { Command } from 'commander'
import type { Skill, SkillFile, SkillInArchive, SkillRecord } from '@holdfast/sdk'
import { openClient } from '../client.ts'
import { localFailure } from '../copying/local-failure.ts'
import { note } from '../failure.ts'
import { withOutput } from '../flags/output-flags.ts'
import { repeated, wholeNumber } from '../flags/parse.ts'
import { withServer } from '../flags/server-flags.ts'
import type { ServerFlags } from '../flags/server-flags.ts'
import { printList, printOne, write } from '../output/print.ts'
import type { OutputFlags } from '../output/print.ts'
import { printableLines } from '../output/printable.ts'
import type { Column } from '../output/table.ts'

type Flags = ServerFlags & OutputFlags

/** No file of a skill and no archive is larger. */
const LARGEST_BYTES = 20 * 1024 * 1024

const nameOf = ({ name }: SkillRecord) => name

export function addSkills(program: Command): void {
  const skills = program
    .command('skills')
    .alias('skill')
    .description('what the models of the tenant can be taught')
    .addHelpText(
      'after',
      `
Examples:
  holdfast skills ls
  holdfast skills add reviewer --description 'reviews a change' < instructions.md
  holdfast skills install my-skills.zip`,
    )
  addList(skills)
  addShow(skills)
  addAdd(skills)
  addRemove(skills)
  addFiles(skills)
  addCat(skills)
  addPut(skills)
  addInstall(skills)
}

function addList(skills: Command): void {
  const list = skills.command('ls').alias('list').description('list skills').addHelpText('after', `\nExample:\n  holdfast skills ls`)
  withServer(withOutput(list)).action(async (flags: Flags) =>
    printList(await (await openClient(flags)).skills.list(), { columns: COLUMNS, idOf: nameOf }, flags),
  )
}

function addShow(skills: Command): void {
  const show = skills
    .command('show')
    .description('show a skill with its instructions')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast skills show reviewer`)
  withServer(withOutput(show)).action(async (name: string, flags: Flags) => {
    const skill = await (await openClient(flags)).skills.get(name)
    await printOne(skill, { rows, idOf: nameOf }, flags)
    if (flags.quiet !== true && flags.output === 'table') await write(`\n${printableLines(skill.instructions.trimEnd())}\n`)
  })
}

function addAdd(skills: Command): void {
  interface AddFlags extends Flags {
    readonly displayName?: string
    readonly description?: string
    readonly instructions?: string
  }
  const add = skills
    .command('add')
    .description('make a skill; its instructions come from stdin, or from a file here')
    .argument('<name>', 'letters, digits, - and _')
    .argument('[file]', 'a file here with the instructions; stdin unless given, or unless --instructions says them')
    .option('--display-name <text>', 'a name for people')
    .option('--description <text>', 'what it is good for; a model chooses by it')
    .option('--instructions <text>', 'what a model is told')
    .addHelpText('after', `\nExample:\n  holdfast skills add reviewer review.md --description 'reviews a change'`)
  withServer(withOutput(add)).action(async (name: string, file: string | undefined, flags: AddFlags) => {
    const { displayName, description } = flags
    const instructions = flags.instructions ?? (await readLocal(file)).toString('utf8')
    const made = await (await openClient(flags)).skills.create({ name, displayName, description, instructions })
    await printOne(made, { rows, idOf: nameOf }, flags)
  })
}

function addRemove(skills: Command): void {
  const remove = skills
    .command('rm')
    .description('remove a skill with its files')
    .argument('<name>', 'its name')
    .addHelpText('after', `\nExample:\n  holdfast skills rm reviewer`)
  withServer(remove).action(async (name: string, flags: ServerFlags) => (await openClient(flags)).skills.remove(name))
}

function addFiles(skills: Command): void {
  interface FilesFlags extends Flags {
    readonly all?: true
    readonly limit: number
  }
  const files = skills
    .command('files')
    .description('list a directory of a skill')
    .argument('<name>', 'its name')
    .argument('[path]', 'a directory in it', '.')
    .option('-a, --all', 'also names that begin with a dot')
    .option('-n, --limit <count>', 'at most so many', wholeNumber(1, 1000), 200)
    .addHelpText('after', `\nExamples:\n  holdfast skills files reviewer\n  holdfast skills files reviewer scripts -a`)
  withServer(withOutput(files)).action(async (name: string, path: string, flags: FilesFlags) => {
    const { items, truncated } = await (await openClient(flags)).skills.files(name, { path, hidden: flags.all, limit: flags.limit })
    await printList(items, { columns: FILE_COLUMNS, idOf: (file) => file.path }, flags)
    if (truncated) note(`there are more than ${flags.limit}; --limit shows more`)
  })
}

function addCat(skills: Command): void {
  const cat = skills
    .command('cat')
    .description('print a file of a skill')
    .argument('<name>', 'its name')
    .argument('[path]', 'a file in it', 'SKILL.md')
    .addHelpText('after', `\nExample:\n  holdfast skills cat reviewer scripts/run.sh`)
  withServer(cat).action(async (name: string, path: string, flags: ServerFlags) =>
    write(await (await openClient(flags)).skills.readFile(name, path)),
  )
}

function addPut(skills: Command): void {
  const put = skills
    .command('put')
    .description('write a file of a skill from stdin or from a file here')
    .argument('<name>', 'its name')
    .argument('<path>', 'a file in it')
    .argument('[file]', 'a file here; stdin unless given')
    .addHelpText('after', `\nExample:\n  holdfast skills put reviewer scripts/run.sh run.sh`)
  withServer(put).action(async (name: string, path: string, file: string | undefined, flags: ServerFlags) => {
    const content = await readLocal(file)
    await (await openClient(flags)).skills.writeFile(name, path, content)
  })
}

function addInstall(skills: Command): void {
  interface InstallFlags extends Flags {
    readonly only?: readonly string[]
    readonly subdir?: string
    readonly suffix?: string
    readonly dryRun?: true
  }
  const install = skills
    .command('install')
    .description('install skills of a zip archive')
    .argument('<archive>', 'a zip file here')
    .option('--only <path>', 'of several packages this one; may be repeated', repeated)
    .option('--subdir <path>', 'only what lies in this directory of the archive')
    .option('--suffix <text>', 'at the end of the name of each new directory; "upload" unless given')
    .option('--dry-run', 'show what the archive holds, and install nothing')
    .addHelpText(
      'after',
      `\nExamples:\n  holdfast skills install my-skills.zip --dry-run\n  holdfast skills install my-skills.zip --only reviewer`,
    )
  withServer(withOutput(install)).action(async (archive: string, flags: InstallFlags) => {
    const content = await readLocal(archive)
    const wish = { filename: basename(archive), sourceSubdir: flags.subdir, targetSuffix: flags.suffix }
    const client = await openClient(flags)
    if (flags.dryRun === true) {
      return printList(await client.skills.preview(content, wish), { columns: ARCHIVE_COLUMNS, idOf: nameOf }, flags)
    }
    await printList(await client.skills.install(content, { ...wish, sourcePaths: flags.only }), { columns: COLUMNS, idOf: nameOf }, flags)
  })
}

/** All of a file here or of stdin, which the server takes whole anyway. */
async function readLocal(file: string | undefined): Promise<Buffer> {
  const { createReadStream } = await import('node:fs')
  const source: AsyncIterable<Buffer> = file === undefined || file === '-' ? process.stdin : createReadStream(file)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of source) {
      chunks.push(chunk)
      size += chunk.length
      // The server says what is too large; here it only must not fill the memory.
      if (size > LARGEST_BYTES) break
    }
  } catch (error) {
    localFailure(error)
  }
  return Buffer.concat(chunks)
}

const COLUMNS: readonly Column<SkillRecord>[] = [
  { title: 'NAME', of: nameOf },
  { title: 'DESCRIPTION', of: ({ description }) => description, isFlexible: true },
  { title: 'PYTHON', of: ({ pythonProject }) => (pythonProject ? 'yes' : '') },
  { title: 'CHANGED', of: ({ updatedAt }) => updatedAt },
]

const ARCHIVE_COLUMNS: readonly Column<SkillInArchive>[] = [
  { title: 'PATH', of: ({ sourcePath }) => (sourcePath === '' ? '.' : sourcePath) },
  ...COLUMNS,
]

const FILE_COLUMNS: readonly Column<SkillFile>[] = [
  { title: 'PATH', of: ({ path, isDirectory }) => `${path}${isDirectory ? '/' : ''}`, isFlexible: true },
  { title: 'SIZE', of: ({ size }) => (size === null ? '' : String(size)) },
]

function rows(skill: Skill) {
  return [
    ['name', skill.name],
    ['display name', skill.displayName],
    ['description', skill.description],
    ['entry file', skill.entryFile],
    ['Python project', skill.pythonProject ? 'yes' : 'no'],
    ['created', skill.createdAt],
    ['changed', skill.updatedAt],
  ] as const
}
