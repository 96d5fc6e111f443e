/**
 * What backends cannot promise: those without images, and all of them.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { Excuses } from './subject.ts'

export const WITHOUT_IMAGES: Excuses = {
  'an image without a shell, a passwd file or a /tmp works': 'it has no images; it shows the /usr of the host',
  'an image that declares a volume leaves no volume behind': 'it has no images; it shows the /usr of the host',
  'a link of the image never leads a mount elsewhere': 'it has no images; it shows the /usr of the host',
}

export const ON_EVERY_BACKEND: Excuses = {
  'fill netlink answers beyond the memory limit': 'no kernel counts the answers of NETLINK_ROUTE, and programs need it to list interfaces',
}

/** What `user: root` is: commands are uid 0 of a user namespace of their own, with a root that they may write. */
const IS_ROOT = 'commands are root of their own user namespace by choice; on the host they are nobody'
const IS_WRITABLE = 'the root is writable by choice; the bound of the session counts what is written there'
export const WITH_ROOT_INSIDE: Excuses = {
  'run as root or in a group of root': IS_ROOT,
  'become root by asking': IS_ROOT,
  'become root by a setuid file in a mount': IS_ROOT,
  'become root by a setuid file made inside': IS_ROOT,
  'hold a capability in any of the five sets':
    'commands keep seven capabilities over their own namespace; the lifecycle contract names them',
  'write anywhere but in the promised places': IS_WRITABLE,
  'the root is mounted read-only, not merely owned by another': IS_WRITABLE,
  'a disk filled wherever it can be written': IS_WRITABLE,
  'every writable place filled at once, beyond the memory limit': IS_WRITABLE,
}
