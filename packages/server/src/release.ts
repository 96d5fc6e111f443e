/** The version of this software, as its package says it. */
export const RELEASE = '0.1.0'
