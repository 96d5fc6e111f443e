/**
 * Dependencies of a Node project: `node_modules` in its copy, made by the box's own npm.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 *
 * What only its developers need is left out, so the project's own scripts, which build it, are not run; those of its dependencies are.
 */
import type { Recipe } from './recipe.ts'

const LOCKS = ['package-lock.json', 'npm-shrinkwrap.json']
const QUIETLY = ['--no-audit', '--no-fund', '--no-progress']

export const NODE_RECIPE: Recipe = {
  title: 'Node',
  manifests: ['package.json', ...LOCKS, '.npmrc'],
  localDependency: /"(?:file|link|workspace):/,
  probe: ['/bin/sh', '-c', 'command -v npm >/dev/null && exec node --version'],
  withoutRuntime: 'the box has no node with npm; name an image that has them with box.image',
  note: ({ project }) => `${project}/node_modules/.holdfast-installed`,
  environment: ({ places, network }) => ({
    TMPDIR: places.tmp,
    npm_config_cache: `${places.cache}/npm`,
    npm_config_update_notifier: 'false',
    // What went wrong is in its output.
    npm_config_logs_max: '0',
    ...(network === 'off' ? { npm_config_offline: 'true' } : {}),
  }),
  steps(_plan, found) {
    const isLocked = LOCKS.some((lock) => found.has(lock))
    const verb = isLocked ? 'ci' : 'install'
    // A lock that this one wrote would be taken for one of the project.
    const options = ['--omit=dev', '--ignore-scripts', ...(isLocked ? [] : ['--no-package-lock']), ...QUIETLY]
    return [
      { what: `npm ${verb}`, argv: ['npm', verb, ...options] },
      { what: 'npm rebuild', argv: ['npm', 'rebuild', ...QUIETLY] },
    ]
  },
}
