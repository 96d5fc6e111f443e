/**
 * The choices of scope in Vietnamese.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import type { ScopeTexts } from './scope-texts.ts'

export const VI_VN: ScopeTexts = {
  global: {
    label: 'Toàn cục (mọi người dùng chung)',
    description: 'Mọi cuộc trò chuyện và người dùng dùng chung một sandbox, gồm cả tệp và tiến trình.',
  },
  chat: {
    label: 'Theo cuộc trò chuyện (khuyên dùng)',
    description: 'Mỗi nhóm hoặc cuộc trò chuyện riêng có sandbox riêng; mọi người trong nhóm dùng chung sandbox đó.',
  },
  user: {
    label: 'Theo người dùng trong cuộc trò chuyện',
    description: 'Mỗi người dùng có sandbox riêng trong từng cuộc trò chuyện; các thành viên trong nhóm không dùng chung tệp.',
  },
  conversation: {
    label: 'Theo phiên hội thoại',
    description: 'Mỗi phiên hội thoại trong cuộc trò chuyện có sandbox riêng; phiên hội thoại mới bắt đầu với sandbox mới.',
  },
  message: {
    label: 'Theo tin nhắn (cách ly)',
    description: 'Mỗi tin nhắn dùng một sandbox mới; không giữ lại gì cho tin nhắn tiếp theo.',
  },
  app: {
    label: 'Ứng dụng',
    description: 'Mỗi tác vụ của người dùng có sandbox riêng để xây dựng và chạy ứng dụng.',
  },
  desktop: {
    label: 'Máy tính để bàn',
    description: 'Mỗi tác vụ của người dùng có sandbox riêng cho thao tác trình duyệt và màn hình, tách khỏi sandbox ứng dụng.',
  },
}
