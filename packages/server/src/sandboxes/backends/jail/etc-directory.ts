/**
 * A small `/etc` for sandboxes: enough for programs to know their user, resolve names and find libraries, nothing of the host's own.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Named by a hash of its content and never changed afterwards, so that a running sandbox keeps the one it started with.
 */
import { createHash } from 'node:crypto'
import { lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hasErrorCode } from '../../../home/error-code.ts'
import type { SandboxSpec } from '../../spec.ts'
import { publicFiles } from './public-files.ts'
import { systemAccounts } from './system-accounts.ts'

export interface EtcDirectory {
  readonly directory: string
  /** Paths of the host that are shown read-only at the same place; their mount points exist in the directory. */
  readonly binds: readonly string[]
}

/** Public by nature: certificates of authorities, links to programs, fonts. Never a directory that may hold a key or a token. */
const SHOWN = ['/etc/alternatives', '/etc/ssl/certs', '/etc/pki/ca-trust', '/etc/pki/tls/certs', '/etc/crypto-policies', '/etc/fonts']
const COPIED = ['/etc/ld.so.cache', '/etc/ssl/openssl.cnf', '/etc/mime.types', '/etc/services', '/etc/protocols']
const LINKED = ['/etc/localtime', '/etc/os-release']
/** The npm configuration that belongs to a Node in `/usr/local` or `/usr`: programs see it there anyway. The host's `/etc/npmrc` may hold a token. */
const NPM_CONFIGURATIONS = ['/usr/local/etc/npmrc', '/usr/etc/npmrc']

/**
 * `python` for hosts that have only `python3`, such as Debian: many programs, LangBot among them, write the short name. The directory is the last
 * of PATH (`exec-request.ts`), so a `python` of the host goes first.
 */
const PYTHON = { path: 'holdfast/bin/python', target: '/usr/bin/python3' }

/** The address of slirp4netns' own resolver, which asks whatever the host asks. */
const RESOLVER = '10.0.2.3'

const SHELL = statSync('/usr/bin/bash', { throwIfNoEntry: false }) === undefined ? '/bin/sh' : '/bin/bash'

interface EtcContent {
  readonly files: Readonly<Record<string, string | Buffer>>
  readonly links: Readonly<Record<string, string>>
  readonly binds: readonly string[]
}

export async function createEtcDirectory(stateDir: string, network: 'off' | 'on', user?: SandboxSpec['user']): Promise<EtcDirectory> {
  const content = user === 'root' ? etcContentForRoot(network) : etcContent(network)
  const parent = join(stateDir, 'jail')
  const directory = join(parent, `etc-${hashOf(content)}`)
  if (statSync(directory, { throwIfNoEntry: false }) !== undefined) return { directory, binds: content.binds }
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const making = await mkdtemp(join(parent, '.making-etc-'))
  await writeContent(making, content)
  try {
    await rename(making, directory)
  } catch (error) {
    // Somebody else was faster; theirs has the same content.
    await rm(making, { recursive: true, force: true })
    if (!hasErrorCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
  }
  return { directory, binds: content.binds }
}

export function etcContent(network: 'off' | 'on'): EtcContent {
  const copies = COPIED.flatMap((path) =>
    statSync(path, { throwIfNoEntry: false })?.isFile() ? [[relative(path), readFileSync(path)] as const] : [],
  )
  const npmrc = NPM_CONFIGURATIONS.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile()).slice(0, 1)
  const links = LINKED.flatMap((path) => (pointsIntoUsr(path) ? [[relative(path), readlinkSync(path)] as const] : []))
  const python = statSync(PYTHON.target, { throwIfNoEntry: false }) === undefined ? [] : [[PYTHON.path, PYTHON.target] as const]
  return {
    files: {
      ...Object.fromEntries(copies),
      passwd: `root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:1000:1000:user:/home/user:${SHELL}\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n`,
      group: 'root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n',
      hosts: '127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n',
      hostname: 'sandbox\n',
      'nsswitch.conf': 'passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n',
      ...(network === 'on' ? { 'resolv.conf': `nameserver ${RESOLVER}\n` } : {}),
    },
    links: { ...Object.fromEntries([...links, ...python, ...npmrc.map((path) => ['npmrc', path] as const)]), mtab: '/proc/self/mounts' },
    binds: SHOWN.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory()),
  }
}

/** The same with what a package manager needs, all of it copied, so that it can be changed. */
function etcContentForRoot(network: 'off' | 'on'): EtcContent {
  const { files, links } = etcContent(network)
  const known = publicFiles()
  return {
    files: { ...files, ...known.files, ...systemAccounts('/home/user', SHELL), 'apt/apt.conf.d/99holdfast': APT_CONFIGURATION },
    links: { ...links, ...known.links },
    binds: [],
  }
}

/** apt fetches as root of the sandbox: a user of its own would need rights to wherever the download goes. */
const APT_CONFIGURATION = 'APT::Sandbox::User "root";\n'

async function writeContent(root: string, { files, links, binds }: EtcContent): Promise<void> {
  for (const path of binds) await mkdir(join(root, relative(path)), { recursive: true, mode: 0o755 })
  for (const [path, bytes] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true, mode: 0o755 })
    await writeFile(join(root, path), bytes, { mode: 0o644 })
    await chmod(join(root, path), 0o644)
  }
  for (const [path, target] of Object.entries(links)) {
    await mkdir(dirname(join(root, path)), { recursive: true, mode: 0o755 })
    await symlink(target, join(root, path))
  }
  // mkdtemp makes it private, and the sandbox's user must read it.
  await chmod(root, 0o755)
}

function hashOf({ files, links, binds }: EtcContent): string {
  const hash = createHash('sha256')
  for (const [path, bytes] of Object.entries(files)) hash.update(`${path}\0${bytes.length}\0`).update(bytes)
  return hash
    .update(JSON.stringify([links, binds]))
    .digest('hex')
    .slice(0, 16)
}

function pointsIntoUsr(path: string): boolean {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return false
  return /^(\.\.)?\/usr\//.test(readlinkSync(path))
}

/** `/etc/ssl/certs` → `ssl/certs`. */
function relative(path: string): string {
  return path.slice('/etc/'.length)
}
