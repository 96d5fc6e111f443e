/**
 * What people read about each choice of scope, in every language.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 *
 * One file per language, all of one form: a new language is a copy that is filled in, and the compiler names what is missing.
 */
import type { Language, ScopeName } from '@holdfast/protocol'
import { EN_US } from './en-us.ts'
import { ES_ES } from './es-es.ts'
import { JA_JP } from './ja-jp.ts'
import { RU_RU } from './ru-ru.ts'
import { TH_TH } from './th-th.ts'
import { VI_VN } from './vi-vn.ts'
import { ZH_HANS } from './zh-hans.ts'
import { ZH_HANT } from './zh-hant.ts'

export interface ChoiceText {
  readonly label: string
  readonly description: string
}

export type ScopeTexts = Readonly<Record<ScopeName, ChoiceText>>

export const SCOPE_TEXTS: Readonly<Record<Language, ScopeTexts>> = {
  'en-US': EN_US,
  'zh-Hans': ZH_HANS,
  'zh-Hant': ZH_HANT,
  'ja-JP': JA_JP,
  'vi-VN': VI_VN,
  'th-TH': TH_TH,
  'es-ES': ES_ES,
  'ru-RU': RU_RU,
}
