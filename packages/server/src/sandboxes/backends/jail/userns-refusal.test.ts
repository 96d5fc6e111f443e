/** One kernel error, four causes: each gets its own sentence and its own fix. */
import { expect, test } from 'vitest'
import { explainRefusal, type UsernsEvidence } from './userns-refusal.ts'

const EVIDENCE: UsernsEvidence = {
  complaint: 'bwrap: setting up uid map: Permission denied',
  programPath: '/usr/bin/bwrap',
  apparmorRestricts: false,
  maxUserNamespaces: 15_000,
  cloneForbidden: false,
  inContainer: false,
}

test.each<[string, Partial<UsernsEvidence>, string, string]>([
  [
    "Ubuntu's AppArmor rule",
    { apparmorRestricts: true },
    'AppArmor',
    'profile holdfast-jail /usr/bin/bwrap flags=(unconfined) { userns, }',
  ],
  [
    'no user namespaces at all',
    { maxUserNamespaces: 0, apparmorRestricts: true },
    'user.max_user_namespaces is 0',
    'sysctl -w user.max_user_namespaces',
  ],
  [
    "Debian's older switch",
    { cloneForbidden: true },
    'kernel.unprivileged_userns_clone is 0',
    'sysctl -w kernel.unprivileged_userns_clone=1',
  ],
  ['a container without permission', { inContainer: true }, 'container', '--security-opt seccomp=unconfined'],
  ['anything else', {}, 'bwrap: setting up uid map: Permission denied', 'choose another backend'],
])('%s is named, with its fix', (_, evidence, reason, fix) => {
  const explained = explainRefusal({ ...EVIDENCE, ...evidence })
  expect(explained.reason).toContain(reason)
  expect(explained.fix).toContain(fix)
})
