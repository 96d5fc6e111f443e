/**
 * All directed stories, by what they are about.
 *
 * Each guard of the session code that a server alone can meet is met by one of them: it is not left to the seed whether its removal
 * is noticed.
 */
import { CAN_PACK } from '../rules.ts'
import { CARE_STORIES } from './care-stories.ts'
import { ENDING_STORIES } from './ending-stories.ts'
import { SERVING_STORIES } from './serving-stories.ts'
import { LIMIT_STORIES, SHARING_STORIES } from './sharing-stories.ts'
import type { Stories } from './story.ts'

export const DIRECTED_STORIES: Stories = {
  ...CARE_STORIES,
  ...SERVING_STORIES,
  ...ENDING_STORIES,
  ...LIMIT_STORIES,
  ...(CAN_PACK ? SHARING_STORIES : {}),
}
