/**
 * What backends cannot promise: those without images, and all of them.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { Excuses } from './subject.ts'

export const WITHOUT_IMAGES: Excuses = {
  'an image without a shell, a passwd file or a /tmp works': 'it has no images; it shows the /usr of the host',
  'an image that declares a volume leaves no volume behind': 'it has no images; it shows the /usr of the host',
}

export const ON_EVERY_BACKEND: Excuses = {
  'fill netlink answers beyond the memory limit': 'no kernel counts the answers of NETLINK_ROUTE, and programs need it to list interfaces',
}
