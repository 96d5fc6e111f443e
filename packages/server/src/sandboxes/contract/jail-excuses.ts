/**
 * What no backend without images can promise.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 */
import type { Excuses } from './subject.ts'

export const WITHOUT_IMAGES: Excuses = {
  'an image without a shell, a passwd file or a /tmp works': 'it has no images; it shows the /usr of the host',
  'an image that declares a volume leaves no volume behind': 'it has no images; it shows the /usr of the host',
}
