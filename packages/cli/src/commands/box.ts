/** `holdfast box`: the server as LangBot starts its Box runtime, with the protocol on this program's own pipes or on a WebSocket. */
import type { Command } from 'commander'

interface BoxFlags {
  readonly stdioControl?: boolean
  readonly wsControlPort?: string
  readonly host?: string
  readonly backend?: string
  readonly image?: string
  readonly home?: string
  readonly config?: string
}

export function addBox(program: Command): void {
  program
    .command('box')
    .description('start the server for LangBot’s Box client: on stdin and stdout, or at /rpc/ws')
    .option('-s, --stdio-control', 'speak on stdin and stdout; the end of stdin stops the server, sessions stay')
    .option('--ws-control-port <port>', 'port to listen on (default 5410; 0 takes any free one)')
    .option('--host <address>', 'address to listen on (default 127.0.0.1; beyond loopback only with a token)')
    .option('--backend <kind>', 'auto, podman, docker, nsjail or bubblewrap')
    .option('--image <name>', 'default image of the container backends')
    .option('--home <directory>', 'where the server keeps its state (default ~/.holdfast)')
    .option('--config <file>', 'configuration file (default <home>/holdfast.yaml)')
    .addHelpText(
      'after',
      `
Examples:
  holdfast box
  holdfast box --host 0.0.0.0 --ws-control-port 5410
  holdfast box -s --ws-control-port 5410

Settings: HOLDFAST_BOX_CONTROL_TOKEN and HOLDFAST_BOX_INSTANCE, or LANGBOT_BOX_CONTROL_TOKEN and
LANGBOT_BOX_TRUSTED_INSTANCE_UUID. See docs/box.md.`,
    )
    .action(async ({ stdioControl = false, wsControlPort, ...flags }: BoxFlags) => {
      const settings = { ...flags, ...(wsControlPort === undefined ? {} : { port: wsControlPort }), 'box.enabled': 'true' }
      if (stdioControl) await (await import('../serving/serve-box.ts')).serveBox(settings)
      else await (await import('../serving/serve.ts')).serve(settings)
    })
}
