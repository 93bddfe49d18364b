/**
 * Starts commands in a sandbox of bubblewrap or in a container, and opens folders that a sandboxed process may have
 * written to. Linux only; on other systems {@link findBubblewrap} returns a problem.
 *
 * @module
 */

export {
  type Bubblewrap,
  findBubblewrap,
  systemPaths,
} from "../sandbox/bubblewrap.ts";
export { type Container, findContainer, type NoContainer } from "../sandbox/container.ts";
export {
  defaultLimits,
  heldLimits,
  type LimitedCommand,
  limitCommand,
  type StepLimits,
} from "../sandbox/limits.ts";
export { Handle, isInside, realOrNull } from "../sandbox/handle.ts";
export {
  bunEnv,
  prepareInRun,
  proxySocket,
  runtimeIn,
  type SandboxedCommand,
  type SandboxRequest,
  type Wall,
} from "../sandbox/launch.ts";
export { placeOf, type Program, programOf } from "../sandbox/programs.ts";
export { type EgressPolicy, endpointOf } from "../sandbox/addresses.ts";
export { type OwnProcesses, ownProcesses } from "../sandbox/own-processes.ts";
export { bubblewrapFor, type SandboxMode } from "../sandbox/mode.ts";
export { sandboxMissing } from "../sandbox/errors.ts";
export { removeRunFolder, runFolder, runFolders, runsFolder } from "../sandbox/run-folder.ts";
export {
  claudeLogin,
  clusterFolders,
  modelEndpoints,
  privateIn,
} from "../sandbox/surroundings.ts";
export { outermost, type Shown } from "../sandbox/view.ts";
export { type WatchedStep, watchLimits } from "../sandbox/watch.ts";
