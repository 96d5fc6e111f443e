/** The wire, written once: what clients and the server agree on. */
export { ERRORS, HoldfastError, isHoldfastError } from './errors.ts'
export type { ErrorCode, ErrorSpec, Problem } from './errors.ts'
export {
  CAPTURE_BYTES,
  DEFAULT_TIMEOUT_MS,
  ExecBody,
  ExecExitEvent,
  ExecOutputEvent,
  ExecResult,
  ExecStartedEvent,
  MAXIMUM_TIMEOUT_MS,
  SandboxWish,
  SessionView,
} from './exec.ts'
export type { ExecBodyInput } from './exec.ts'
export { fieldProblems, problemSentence } from './field-problems.ts'
export type { FieldProblem } from './field-problems.ts'
export { Cpus, LimitsWish, MemoryBytes, OpenFiles, Pids, TmpBytes } from './limits.ts'
