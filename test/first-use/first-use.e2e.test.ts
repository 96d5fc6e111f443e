/** What agents do first works with the network on and defaults otherwise, and is still there after suspend and resume. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openRealServer } from '../../packages/server/src/ingress/rest/contract/real-server.ts'
import type { RealServer } from '../../packages/server/src/ingress/rest/contract/real-server.ts'
import { backendsUnderTest, because } from '../environment/backends.ts'
import type { BackendUnderTest } from '../environment/backends.ts'
import { loadSoftwareImage, SOFTWARE_IMAGE } from '../environment/test-images.ts'
import { CERTIFICATE_ENVIRONMENT, openAgent } from './agent.ts'
import type { Agent } from './agent.ts'
import { forwardBridge } from './forwarding.ts'

const IS_FULL = process.env['HOLDFAST_FIRST_USE'] === 'all'
const KINDS: readonly string[] = IS_FULL ? ['bubblewrap', 'docker'] : ['bubblewrap']
/** Gives up soon, so that a machine without registries loses little time. */
const PROBE =
  'npm ping --fetch-retries=0 --fetch-timeout=20000 2>&1 && pip download --quiet --retries 0 --timeout 20 --no-deps -d /tmp/probe colorama 2>&1'
const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const PLOT = `python3 -c "
import matplotlib
matplotlib.use('Agg')
import pandas
pandas.DataFrame({'a': [1, 3, 2]}).plot().figure.savefig('plot.png')"`
const PREVIEW = 'cd site && npm run preview -- --port 4173 --host 127.0.0.1 --strictPort'
const NPX_SERVER = '@modelcontextprotocol/server-everything'
const UVX_SERVER = 'mcp-server-time'

for (const under of (await backendsUnderTest()).filter(({ kind }) => KINDS.includes(kind))) {
  describe.skipIf(under.skipReason !== null)(`first use on ${under.kind}${because(under)}`, () => {
    let real: RealServer
    let agent: Agent
    let obstacle: string | null
    let undo = async () => {}
    beforeAll(async () => {
      const { dockerSocket } = under.settings
      if (dockerSocket !== undefined) {
        await loadSoftwareImage(dockerSocket)
        undo = await forwardBridge(dockerSocket)
      }
      real = await openRealServer(settingsOf(under))
      agent = await openAgent(real)
      obstacle = await agent.sh(PROBE).then(
        () => null,
        (error: unknown) => `no registry is reachable from inside: ${String(error).slice(0, 300)}`,
      )
    })
    afterAll(async () => {
      await real?.close()
      await undo()
    })

    test('one small package of each kind is installed, found and kept', async ({ skip }) => {
      if (obstacle !== null) skip(obstacle)
      const use = 'python3 -c "import colorama; print(colorama.__name__)"; semver 1.2.3; npx --offline semver 2.0.0'
      await agent.sh('pip install --quiet colorama && npm install --silent -g semver && npm install --silent --no-save semver')
      expect(await agent.sh(use)).toBe('colorama\n1.2.3\n2.0.0\n')
      await agent.suspend()
      expect(await agent.sh(use)).toBe('colorama\n1.2.3\n2.0.0\n')
    })

    test.runIf(IS_FULL)('pandas draws a plot, which is fetched as a picture, also after a resume', async ({ skip }) => {
      if (obstacle !== null) skip(obstacle)
      await agent.sh('pip install --quiet pandas matplotlib')
      for (const _ of ['at first', 'after a resume']) {
        await agent.sh(`rm -f plot.png; ${PLOT}`)
        expect((await agent.file('plot.png')).subarray(0, PNG.length)).toEqual(PNG)
        await agent.suspend()
      }
    })

    test.runIf(IS_FULL)('a Vite app is made, built and looked at, also after a resume', async ({ skip }) => {
      if (obstacle !== null) skip(obstacle)
      await agent.sh(
        'npm create --yes vite@latest site -- --template react < /dev/null && cd site && npm install --silent && npm run build',
      )
      for (const _ of ['at first', 'after a resume']) {
        const link = await agent.serve(PREVIEW, 4173)
        await expect.poll(() => agent.page(link), { timeout: 120_000, interval: 200 }).toContain('<div id="root">')
        await agent.suspend()
      }
    })

    test.runIf(IS_FULL)('MCP servers run by uvx and npx, and again after a resume without a download', async ({ skip }) => {
      if (obstacle !== null) skip(obstacle)
      await agent.sh('pip install --quiet uv')
      for (const flags of [[], ['--offline']]) {
        await agent.addServer('time', { command: 'uvx', args: [...flags, UVX_SERVER], env: CERTIFICATE_ENVIRONMENT })
        await agent.addServer('everything', { command: 'npx', args: [...flags, '--yes', NPX_SERVER], env: CERTIFICATE_ENVIRONMENT })
        expect(await agent.tool('time', 'get_current_time', { timezone: 'UTC' })).toContain('UTC')
        expect(await agent.tool('everything', 'echo', { message: 'hello' })).toContain('hello')
        await agent.suspend()
      }
    })
  })
}

function settingsOf({ kind, settings }: BackendUnderTest): Readonly<Record<string, string>> {
  const { dockerSocket } = settings
  return {
    HOLDFAST_BACKEND: kind,
    ...(dockerSocket === undefined ? {} : { HOLDFAST_DOCKER_HOST: `unix://${dockerSocket}`, HOLDFAST_IMAGE: SOFTWARE_IMAGE }),
  }
}
