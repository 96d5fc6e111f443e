/**
 * The choices of scope in Japanese.
 *
 * ingress → access → [policy] → sessions → sandboxes → guest → result
 */
import type { ScopeTexts } from './scope-texts.ts'

export const JA_JP: ScopeTexts = {
  global: {
    label: 'グローバル（全員で共有）',
    description: 'すべてのチャットとユーザーが、ファイルとプロセスを含めて 1 つのサンドボックスを共有します。',
  },
  chat: {
    label: 'チャットごと（推奨）',
    description: 'グループまたは個人チャットごとに専用のサンドボックスを使います。グループ内では全員が共有します。',
  },
  user: {
    label: 'チャット内のユーザーごと',
    description: 'チャットごとに、各ユーザーが専用のサンドボックスを使います。グループのメンバー同士でファイルは共有されません。',
  },
  conversation: {
    label: '会話ごと',
    description: 'チャット内の会話ごとに専用のサンドボックスを使います。新しい会話は新しいサンドボックスで始まります。',
  },
  message: {
    label: 'メッセージごと（完全分離）',
    description: 'メッセージごとに新しいサンドボックスを使います。次のメッセージには何も引き継がれません。',
  },
  app: {
    label: 'アプリ',
    description: 'ユーザーのタスクごとに、アプリの作成と実行のための専用のサンドボックスを使います。',
  },
  desktop: {
    label: 'デスクトップ',
    description: 'ユーザーのタスクごとに、ブラウザーとデスクトップの操作のための専用のサンドボックスを、アプリ用とは別に使います。',
  },
}
