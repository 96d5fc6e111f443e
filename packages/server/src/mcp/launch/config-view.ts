/**
 * A configuration as it may be shown: names of environment variables, never their values.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import type { McpServerConfig, McpServerConfigView } from '@holdfast/protocol/mcp'

export function configView({ command, args, env, cwd, box, tools }: McpServerConfig): McpServerConfigView {
  const { env: boxEnv, ...rest } = box
  return {
    command,
    args: [...args],
    env_keys: Object.keys(env),
    cwd: cwd ?? null,
    box: { ...rest, env_keys: Object.keys(boxEnv) },
    tools,
  }
}
