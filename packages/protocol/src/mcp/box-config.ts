/**
 * The `box` of an MCP server's configuration: what the sandbox is to be that it runs in.
 *
 * Keys and values are those of LangBot's, read as laxly; unknown keys are ignored. `null` is the server's own default.
 */
import { z } from 'zod'
import { BoxMountMode, BoxNetwork } from '../box/box-spec.ts'
import { laxBoolean, laxInteger, laxNumber, plainText, trimmedText } from '../box/lax.ts'
import { DEFAULT_WORKSPACE } from '../sandbox-wish.ts'
import { EnvironmentShape } from './environment.ts'

export const DEFAULT_STARTUP_SECONDS = 300
export const MAXIMUM_STARTUP_SECONDS = 3_600

const HostPath = plainText
  .max(4096, { error: 'must be at most 4096 characters' })
  .startsWith('/', { error: 'must be an absolute path of the host' })
  .refine((path) => path.isWellFormed() && !path.includes('\0'), { error: 'must not contain NUL or broken Unicode' })

export const McpBoxConfig = z.object(
  {
    image: trimmedText.max(255, { error: 'must be at most 255 characters' }).nullable().default(null),
    network: BoxNetwork.default('on'),
    host_path: HostPath.nullable()
      .default(null)
      .meta({ description: 'The directory of the project on the host; found from the command and its arguments unless given.' }),
    host_path_mode: BoxMountMode.default('ro').meta({
      description: `"ro": a copy of it lies in ${DEFAULT_WORKSPACE}; "rw": it is mounted, and what is written there is written on the host; "none": it is not shown.`,
    }),
    env: EnvironmentShape.default({}).meta({ description: 'For the server and for what installs its dependencies.' }),
    startup_timeout_sec: laxInteger
      .pipe(
        z
          .int()
          .min(1, { error: 'must be at least 1' })
          .max(MAXIMUM_STARTUP_SECONDS, { error: `must be at most ${MAXIMUM_STARTUP_SECONDS} (one hour)` }),
      )
      .default(DEFAULT_STARTUP_SECONDS),
    cpus: laxNumber
      .pipe(z.number().min(0.01, { error: 'must be at least 0.01' }).max(1024, { error: 'must be at most 1024' }))
      .nullable()
      .default(null),
    memory_mb: laxInteger
      .pipe(z.int().min(32, { error: 'must be at least 32' }).max(16_777_216, { error: 'must be at most 16777216 (16 TiB)' }))
      .nullable()
      .default(null),
    pids_limit: laxInteger
      .pipe(z.int().min(8, { error: 'must be at least 8' }).max(4_194_304, { error: 'must be at most 4194304' }))
      .nullable()
      .default(null),
    read_only_rootfs: laxBoolean.nullable().default(null),
  },
  { error: 'must be an object' },
)
export type McpBoxConfig = z.output<typeof McpBoxConfig>
