/**
 * A promise with its two ends, which not every runtime has built in.
 */

export interface Promised<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

export function promised<T>(): Promised<T> {
  let ends: Omit<Promised<T>, 'promise'> = { resolve: () => undefined, reject: () => undefined }
  const promise = new Promise<T>((resolve, reject) => {
    ends = { resolve, reject }
  })
  return { promise, ...ends }
}
