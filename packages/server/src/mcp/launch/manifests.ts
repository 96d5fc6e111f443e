/**
 * Files by which a project says what it depends on.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
export const PYTHON_MANIFESTS = ['pyproject.toml', 'setup.py', 'requirements.txt'] as const
export const NODE_MANIFESTS = ['package.json'] as const
export const MANIFESTS = [...PYTHON_MANIFESTS, ...NODE_MANIFESTS]
