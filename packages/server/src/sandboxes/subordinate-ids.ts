/**
 * Users that a server has to give although it is not root: the subordinate ids of its account (`/etc/subuid`, `/etc/subgid`).
 *
 * The launcher makes a user namespace in which the server's own id is 0 and every subordinate id is itself, and runs a program there as
 * root over exactly these ids. `newuidmap` and `newgidmap` write the map. Why: docs/adr/0028-subordinate-ids.md
 */
import { userInfo } from 'node:os'
import { findProgram } from './backends/jail/jail-host.ts'
import { tryProgram } from './backends/jail/trial.ts'
import { delegatedIds, readHostFile } from './host-users.ts'
import type { ReadHostFile, UidRange } from './host-users.ts'

export interface SubordinateIds {
  /** Where the users of sandboxes are taken from. */
  readonly range: UidRange
  /** Arguments of the launcher; the program and its own arguments follow. `beside`: outside the namespace, which is its descriptor 3. */
  argumentsFor(how: 'enter' | 'beside'): readonly string[]
}

export interface NoSubordinateIds {
  readonly problem: string
  readonly fix: string
}

export interface SubordinateIdsNeeds {
  readonly launcherPath: string
  readonly guestPath: string
}

interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** As many as `useradd` gives an account. */
const USUAL_COUNT = 65_536
const FIRST_USUAL = 100_000
/** One for commands, one for a guest. */
const LEAST_COUNT = 2

/** Looks, and then tries it. Never throws. */
export async function findSubordinateIds({ launcherPath, guestPath }: SubordinateIdsNeeds): Promise<SubordinateIds | NoSubordinateIds> {
  const account = ownAccount()
  if (account === null)
    return { problem: 'the uid of the server has no name in /etc/passwd', fix: 'run the server as an account that has one' }
  const [newuidmap, newgidmap] = [findProgram('newuidmap'), findProgram('newgidmap')]
  if (newuidmap === null || newgidmap === null)
    return { problem: 'newuidmap and newgidmap are not installed', fix: 'run `apt-get install uidmap` (or your distribution’s equivalent)' }
  const found = delegatedTo(account)
  if ('problem' in found) return found
  const map = (own: number) => [[0, own, 1], ...found.all.map(({ first, count }) => [first, first, count])].flat().join(' ')
  const ids: SubordinateIds = {
    range: found.largest,
    argumentsFor: (how) => ['subordinate', how, newuidmap, map(account.uid), newgidmap, map(account.gid)],
  }
  const trial = await tryProgram(launcherPath, [...ids.argumentsFor('enter'), guestPath, 'stat', '/'])
  if (trial.succeeded) return ids
  return {
    problem: `its subordinate ids cannot be used: ${trial.output}`,
    fix: 'make what the message names possible for this account; on Ubuntu, AppArmor must let the launcher make user namespaces',
  }
}

/** The ids that the account has both as users and as groups: every user of a sandbox has the group of the same number. */
export function delegatedTo(
  { name, uid }: Pick<Account, 'name' | 'uid'>,
  read: ReadHostFile = readHostFile,
): NoSubordinateIds | { readonly all: readonly UidRange[]; readonly largest: UidRange } {
  const [users = [], groups = []] = ['/etc/subuid', '/etc/subgid'].map((file) => delegatedIds(read(file)))
  const own = (rows: typeof users) => rows.filter((row) => row.name === name || row.name === String(uid)).map(({ ids }) => ids)
  const all = own(users).flatMap((left) => own(groups).flatMap((right) => shared(left, right)))
  const largest = all.toSorted((a, b) => b.count - a.count)[0]
  if (largest !== undefined && largest.count >= LEAST_COUNT) return { all, largest }
  const first = Math.max(FIRST_USUAL, ...[...users, ...groups].map(({ ids }) => ids.first + ids.count))
  const span = `${first}-${first + USUAL_COUNT - 1}`
  return {
    problem: `the account ${name} has no subordinate ids in /etc/subuid and /etc/subgid`,
    fix: `run \`usermod --add-subuids ${span} --add-subgids ${span} ${name}\` as root, and start the server again`,
  }
}

function shared(left: UidRange, right: UidRange): readonly UidRange[] {
  const first = Math.max(left.first, right.first)
  const count = Math.min(left.first + left.count, right.first + right.count) - first
  return count > 0 ? [{ first, count }] : []
}

function ownAccount(): Account | null {
  try {
    const { username, uid, gid } = userInfo()
    return { name: username, uid, gid }
  } catch {
    // Node throws where the uid has no entry.
    return null
  }
}
