/**
 * Names here and names on the wire: `exitCode` and `exit_code`.
 *
 * Only the fields of the one object that is given are renamed, never those of what lies in it: labels, environments and variables keep
 * their names. The types are renamed in the same way, so the compiler compares both sides with the protocol.
 */

type CamelName<N extends string> = N extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelName<Tail>>}` : N
type SnakeName<N extends string> = N extends `${infer Letter}${infer Tail}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${SnakeName<Tail>}`
  : N

export type Camel<T> = { [N in keyof T as N extends string ? CamelName<N> : N]: T[N] }
export type Snake<T> = { [N in keyof T as N extends string ? SnakeName<N> : N]: T[N] }

export function camel<T extends object>(wire: T): Camel<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type says what the renaming does
  return renamed(wire, (name) => name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())) as Camel<T>
}

/** What is `undefined` is left out. */
export function snake<T extends object>(value: T): Snake<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type says what the renaming does
  return renamed(value, (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)) as Snake<T>
}

function renamed(object: object, rename: (name: string) => string): object {
  return Object.fromEntries(
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [rename(name), value]),
  )
}
