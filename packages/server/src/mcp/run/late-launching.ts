/**
 * What starts servers, loaded with the first of them: its library takes a third of the memory of an idle Holdfast.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import type { LaunchNeeds, LaunchServer } from './launch-server.ts'

export function lateLaunching(needs: LaunchNeeds): LaunchServer {
  let opening: Promise<LaunchServer> | null = null
  const load = async (): Promise<LaunchServer> => (await import('./launch-server.ts')).launchingServers(needs)
  const open = () => (opening ??= load())
  return {
    launch: async (...asked) => (await open()).launch(...asked),
    takeUp: async (...asked) => (await open()).takeUp(...asked),
  }
}
