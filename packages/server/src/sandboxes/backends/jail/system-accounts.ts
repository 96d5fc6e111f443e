/**
 * The system accounts of the host for sandboxes with `user: root`: packages own files by these names, and the database of packages, which
 * such a sandbox sees, refers to them. People's accounts, members of groups, comments and passwords are left out.
 */
import { readHostFile } from '../../host-users.ts'
import type { ReadHostFile } from '../../host-users.ts'

const FIRST_PERSON = 1000
const NOBODY = 65_534
const NAME = /^[a-z_][a-z0-9_-]{0,31}$/

/** Root's home and shell are those of the sandbox's own user. */
export function systemAccounts(
  home: string,
  shell: string,
  read: ReadHostFile = readHostFile,
): { readonly passwd: string; readonly group: string } {
  const users = rows(read('/etc/passwd')).map(
    ([name, , uid, gid = '', , directory = '/', program = '']) => `${name}:x:${uid}:${gid}::${directory}:${program}\n`,
  )
  const groups = rows(read('/etc/group')).map(([name, , gid]) => `${name}:x:${gid}:\n`)
  return { passwd: `root:x:0:0:root:${home}:${shell}\n${users.join('')}`, group: `root:x:0:\n${groups.join('')}` }
}

function rows(text: string): readonly (readonly string[])[] {
  return text.split('\n').flatMap((line) => {
    const fields = line.split(':')
    const [name = '', , id = ''] = fields
    const isSystem = /^\d+$/.test(id) && Number(id) > 0 && (Number(id) < FIRST_PERSON || Number(id) === NOBODY)
    return isSystem && NAME.test(name) ? [fields] : []
  })
}
