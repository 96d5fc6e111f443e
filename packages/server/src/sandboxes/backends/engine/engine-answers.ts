/**
 * What is read back from a container engine: loose and minimal, only the fields that are used.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * Docker and Podman differ in what they leave out, so everything that one of them may omit has a default.
 */
import { z } from 'zod'

const absentAsEmpty = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined)

export const EngineVersion = z.object({
  Version: z.string(),
  ApiVersion: z.string().regex(/^\d+\.\d+$/),
  MinAPIVersion: z
    .string()
    .regex(/^\d+\.\d+$/)
    .default('1.12'),
})
export type EngineVersion = z.output<typeof EngineVersion>

/** Docker's `/info`. */
export const EngineInfo = z.object({
  OSType: z.string().default('linux'),
  OperatingSystem: z.string().default(''),
  CgroupVersion: z.string().default('1'),
  CgroupDriver: z.string().default(''),
  MemoryLimit: z.boolean().default(false),
  SwapLimit: z.boolean().default(false),
  CpuCfsPeriod: z.boolean().default(false),
  CpuCfsQuota: z.boolean().default(false),
  PidsLimit: z.boolean().default(false),
  SecurityOptions: absentAsEmpty(z.array(z.string())),
  Driver: z.string().default(''),
  DockerRootDir: z.string().default(''),
})
export type EngineInfo = z.output<typeof EngineInfo>

export const EngineNetworks = z.array(z.object({ Name: z.string() }))

export const EngineImage = z.object({
  Id: z.string(),
  Config: absentAsEmpty(z.object({ Volumes: absentAsEmpty(z.record(z.string(), z.unknown())) })),
  /** Where its layers are on disk, as far as the engine tells. */
  GraphDriver: absentAsEmpty(z.object({ Data: absentAsEmpty(z.record(z.string(), z.string())) })),
})
export type EngineImage = z.output<typeof EngineImage>

export const CreatedContainer = z.object({
  Id: z.string(),
  Warnings: absentAsEmpty(z.array(z.string())),
})
export type CreatedContainer = z.output<typeof CreatedContainer>

export const InspectedContainer = z.object({
  Id: z.string(),
  State: z.object({
    Running: z.boolean(),
    Paused: z.boolean().default(false),
    /** Of the first process, as the host numbers it; 0 when it does not run. */
    Pid: z.number().default(0),
    ExitCode: z.number().default(0),
    OOMKilled: z.boolean().default(false),
    Error: z.string().default(''),
  }),
  Config: z.object({ Labels: absentAsEmpty(z.record(z.string(), z.string())) }),
  /** Where its layers are on disk, as far as the engine tells. */
  GraphDriver: absentAsEmpty(z.object({ Data: absentAsEmpty(z.record(z.string(), z.string())) })),
})
export type InspectedContainer = z.output<typeof InspectedContainer>

export const ListedContainers = z.array(
  z.object({
    Id: z.string(),
    State: z.string().default(''),
    Labels: absentAsEmpty(z.record(z.string(), z.string())),
  }),
)
export type ListedContainers = z.output<typeof ListedContainers>

/** A refusal: Docker sends `message`, Podman also `cause`. */
export const EngineRefusal = z.object({ message: z.string() })

/** One line of a pull. */
export const PullLine = z.object({
  id: z.string().optional(),
  status: z.string().optional(),
  error: z.string().optional(),
  progressDetail: z.object({ current: z.number().optional(), total: z.number().optional() }).optional(),
})
