/** A page that is refused by CORS learns the setting that allows it. */
import { expect, test } from 'vitest'
import { foreignPage } from './transport.ts'

test('the error for a page of another origin names the setting that allows it', () => {
  expect(foreignPage('https://sandboxes.example/', { origin: 'https://app.example' })).toContain(
    'pages of https://app.example: put that origin into its setting cors.allowed_origins',
  )
})

test('a page of the server itself, and a program that is no page, are not', () => {
  expect(foreignPage('https://app.example/', { origin: 'https://app.example' })).toBeUndefined()
  expect(foreignPage('https://app.example/', undefined)).toBeUndefined()
})
