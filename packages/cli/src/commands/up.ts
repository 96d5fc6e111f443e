/** `holdfast up`: the server in the foreground, with the words a person needs to make a first request. */
import type { ConfigFlags } from '@holdfast/server'
import type { Command } from 'commander'

export function addUp(program: Command): void {
  program
    .command('up')
    .description('start the server; Ctrl-C stops it when its commands have ended, a second one at once')
    .option('--host <address>', 'address to listen on (default 127.0.0.1; beyond loopback only with a key)')
    .option('--port <port>', 'port to listen on (default 5410; 0 takes any free one)')
    .option('--backend <kind>', 'auto, podman, docker, nsjail or bubblewrap')
    .option('--image <name>', 'default image of the container backends')
    .option('--limits <none>', 'none: give up the limits of CPUs, memory and processes, which need root or delegated cgroups')
    .option('--home <directory>', 'where the server keeps its state (default ~/.holdfast)')
    .option('--config <file>', 'configuration file (default <home>/holdfast.yaml)')
    .addHelpText(
      'after',
      `
Examples:
  holdfast up
  holdfast up --port 8080 --backend docker
  HOLDFAST_HOME=/srv/holdfast holdfast up

Every setting: holdfast config show --effective`,
    )
    .action(async (flags: ConfigFlags) => (await import('../serving/serve.ts')).serve(flags))
}
