/**
 * What LangBot's status pages read from `/api/v1/box/…`: `code` 0, `msg` and the payload.
 */
import { z } from 'zod'
import { BoxSessionInfo } from './box-session.ts'
import { BoxBackendInfo, BoxStatus } from './box-status.ts'

const answer = <S extends z.ZodType>(data: S) => z.object({ code: z.literal(0), msg: z.string(), data })

const Availability = z.object({
  /** The Box API is switched on, and its backend answers. */
  available: z.boolean(),
  enabled: z.boolean(),
  /** Why it is not available. */
  connector_error: z.string().optional(),
})

export const BoxStatusAnswer = answer(
  BoxStatus.partial().extend({ ...Availability.shape, profile: z.string(), recent_error_count: z.int(), hidden: z.boolean() }),
)
export const BoxBackendAnswer = answer(Availability.extend({ backend: BoxBackendInfo.optional() }))
export const BoxSessionsAnswer = answer(z.array(BoxSessionInfo))
export const BoxErrorsAnswer = answer(
  z.array(
    z.object({
      timestamp: z.string(),
      type: z.string(),
      message: z.string(),
      query_id: z.string(),
      instance_uuid: z.string(),
      workspace_uuid: z.string(),
    }),
  ),
)
