/** Files have the type of their name, and a browser runs nothing of them. */
import { expect, test } from 'vitest'
import { contentHeaders } from './content-type.ts'

test('pictures are shown, with the type of their name', () => {
  expect(contentHeaders('/workspace/Plot.PNG')).toMatchObject({
    'content-type': 'image/png',
    'content-disposition': "inline; filename*=UTF-8''Plot.PNG",
    'x-content-type-options': 'nosniff',
  })
})

test.each(['page.html', 'drawing.svg', 'program.js', 'unknown', '.png'])('%s is saved, never shown', (name) => {
  const headers = contentHeaders(name)
  expect(headers['content-disposition']).toMatch(/^attachment;/)
  expect(headers['content-security-policy']).toContain('sandbox')
})

test('a name cannot add a header or another parameter', () => {
  expect(contentHeaders('a"; x=\r\nb.txt')['content-disposition']).toBe("inline; filename*=UTF-8''a%22%3B%20x%3D%0D%0Ab.txt")
})
