/** LangBot itself in front of the server: one of each kind here, and all of them in `npm run test:long -- langbot`. */
import { describeBoxService, LANGBOTS } from './box-service.ts'
import type { BoxServiceCase, LangBotRelease } from './box-service.ts'

const ONE_OF_EACH: readonly BoxServiceCase[] = [
  { langbot: '4.10.0', kind: 'bubblewrap', isShared: false },
  { langbot: '4.10.8', kind: 'bubblewrap', isShared: false },
  { langbot: '4.11.2', kind: 'bubblewrap', isShared: true },
  { langbot: '4.11.2', kind: 'docker', isShared: true },
]

function allOfThem(): readonly BoxServiceCase[] {
  const releases = Object.keys(LANGBOTS).filter((release): release is LangBotRelease => release in LANGBOTS)
  return releases.flatMap((langbot) =>
    (['bubblewrap', 'docker'] as const).flatMap((kind) => [true, false].map((isShared) => ({ langbot, kind, isShared }))),
  )
}

for (const each of process.env.HOLDFAST_LANGBOT_CASES === 'all' ? allOfThem() : ONE_OF_EACH) await describeBoxService(each)
