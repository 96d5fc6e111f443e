/**
 * How the dependencies of one kind of project are installed in a box: what is asked first, what is run, and where the note of it lies.
 *
 * ingress → [mcp] → tools → access → policy → sessions → sandboxes → guest → result
 */
import type { BoxPlaces } from './box-places.ts'
import type { DependencyPlan } from './dependency-plan.ts'

export interface RecipeStep {
  /** For people: what runs. */
  readonly what: string
  readonly argv: readonly string[]
  /** What to do when it fails, where that is always the same. */
  readonly hint?: string
}

export interface Recipe {
  /** For people. */
  readonly title: string
  /** Files of the project that decide what is installed; other content means another installation. */
  readonly manifests: readonly string[]
  /** In a manifest: something of the project itself is installed, and has to be again when the project changes. */
  readonly localDependency: RegExp
  /** Says which runtime the box has; another one means another installation. */
  readonly probe: readonly string[]
  /** What to do where the probe finds nothing. */
  readonly withoutRuntime: string
  /** Inside of what it speaks of, so that both are there or neither is. */
  note(places: BoxPlaces): string
  environment(plan: DependencyPlan): Readonly<Record<string, string>>
  /** `found` are the manifests that the project has. They run in the project's directory. */
  steps(plan: DependencyPlan, found: ReadonlySet<string>): readonly RecipeStep[]
}
