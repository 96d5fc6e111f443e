/**
 * Starts of MCP servers, told of as they end.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import type { McpObserver } from '../../telemetry/observations.ts'
import type { LaunchServer } from './launch-server.ts'

export function observedLaunching(launching: LaunchServer, { mcpServerStarted }: McpObserver): LaunchServer {
  return {
    async launch(wish, signal) {
      const since = performance.now()
      const seconds = () => (performance.now() - since) / 1000
      try {
        const launched = await launching.launch(wish, signal)
        mcpServerStarted('started', seconds())
        return launched
      } catch (error) {
        mcpServerStarted(signal.aborted ? 'unwanted' : 'failed', seconds())
        throw error
      }
    },
    takeUp: (...asked) => launching.takeUp(...asked),
  }
}
