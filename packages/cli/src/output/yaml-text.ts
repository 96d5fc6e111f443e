/**
 * Values as YAML: its library is large and seldom asked for, so this is loaded late.
 *
 * Named by an import of its own, because a bundle knows the names in a CommonJS package only where they are imported by name.
 */
export { stringify as yamlText } from 'yaml'
