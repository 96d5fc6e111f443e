/**
 * The choices of scope in Traditional Chinese.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import type { ScopeTexts } from './scope-texts.ts'

export const ZH_HANT: ScopeTexts = {
  global: {
    label: '全域（所有人共用）',
    description: '所有聊天和使用者共用一個沙箱，包括其中的檔案和程序。',
  },
  chat: {
    label: '每個聊天（建議）',
    description: '每個群組或私人聊天擁有獨立的沙箱；群組成員共用同一個沙箱。',
  },
  user: {
    label: '聊天中的每位使用者',
    description: '每位使用者在每個聊天中擁有獨立的沙箱；群組成員之間不共用檔案。',
  },
  conversation: {
    label: '每個對話',
    description: '聊天中的每個對話擁有獨立的沙箱；開始新對話時會使用新的沙箱。',
  },
  message: {
    label: '每則訊息（完全隔離）',
    description: '每則訊息都使用新的沙箱；不會為下一則訊息保留任何內容。',
  },
  app: {
    label: '應用程式',
    description: '使用者的每個工作擁有獨立的沙箱，用於建置和執行應用程式。',
  },
  desktop: {
    label: '桌面',
    description: '使用者的每個工作擁有獨立的沙箱，用於瀏覽器和桌面操作，與其應用程式沙箱分開。',
  },
}
