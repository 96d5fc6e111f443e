#!/usr/bin/env node
/** The `holdfast` command: hands over to the TypeScript sources, which Node 24 runs as they are. */
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  process.stderr.write(
    `holdfast: needs Node 24 or newer, this is ${process.version}; use \`npm run holdfast -- …\`, which brings its own\n`,
  )
  process.exit(125)
}
await import('../src/main.ts')
