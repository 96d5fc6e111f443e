/** The Box protocol, written once: what LangBot's client and a Box server agree on. */
export { BOX_ACTIONS, CALL_SECONDS, DEFAULT_CALL_SECONDS, HOST_ACTIONS, isBoxAction } from './actions.ts'
export type { BoxAction } from './actions.ts'
export {
  ArtifactManifest,
  ARTIFACTS_PATH,
  ContentDigest,
  manifestDigest,
  MAXIMUM_ARTIFACT_BYTES,
  MAXIMUM_MANIFEST_BYTES,
} from './box-artifact.ts'
export {
  BoxContext,
  ControlToken,
  GENERATION_HEADER,
  INSTANCE_HEADER,
  InstanceId,
  MAXIMUM_WORKSPACE_LENGTH,
  TOKEN_HEADER,
  WORKSPACE_HEADER,
} from './box-context.ts'
export { BoxError, errorMessage, isBoxError, MAXIMUM_ERROR_TEXT, plainErrorText, RECOVERED_CLASSES, recoverError } from './box-error.ts'
export type { BoxErrorClass } from './box-error.ts'
export { BoxBackendAnswer, BoxErrorsAnswer, BoxSessionsAnswer, BoxStatusAnswer } from './box-pages.ts'
export { BoxManagedProcessInfo, BoxManagedProcessSpec, DEFAULT_PROCESS_ID } from './box-process.ts'
export { BoxExecutionResult, BoxSessionDetail, BoxSessionInfo, boxSkillTime, boxTime } from './box-session.ts'
export {
  CreateSkillData,
  InstallSkillZipData,
  ListSkillFilesData,
  NamedSkillData,
  PreviewSkillZipData,
  ScanSkillData,
  SkillChange,
  SkillFileData,
  SkillFileEntry,
  SkillInfo,
  SkillPreview,
  UpdateSkillData,
  WriteSkillFileData,
} from './box-skill.ts'
export { BoxMountMode, BoxMountSpec, BoxNetwork, BoxSpec, DEFAULT_BOX_IMAGE } from './box-spec.ts'
export {
  BoxBackendInfo,
  BoxStatus,
  BoxStorageAnalysis,
  BoxStorageDirectory,
  DEFAULT_BOX_LIMITS,
  MARKER_NAME,
  readBoxLimits,
  SharedWorkspaceProof,
} from './box-status.ts'
export type { BoxLimits } from './box-status.ts'
export {
  BoxRequest,
  BoxResponse,
  frameText,
  MAXIMUM_IN_FLIGHT,
  MAXIMUM_MESSAGE_BYTES,
  parseFrame,
  SequenceId,
  sequenceOf,
} from './frames.ts'
export { FILE_CHUNK_BYTES, FileChunk, FileKey } from './file-chunks.ts'
export { physicalSessionId, placementNamespace, sanitizedSessionId, workspaceNamespace } from './namespaces.ts'
export { stdioLines, stdioReader } from './stdio-framing.ts'
export type { StdioReader } from './stdio-framing.ts'
