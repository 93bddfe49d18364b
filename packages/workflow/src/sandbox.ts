/**
 * `@uncaged/workflow/sandbox`: starts commands in a sandbox of bubblewrap, and opens folders that a sandboxed process may
 * have written to. Linux only; elsewhere {@link findBubblewrap} says that there is none.
 */
export {
  type Bubblewrap,
  findBubblewrap,
  systemPaths,
  systemProgram,
} from "./sandbox/bubblewrap.ts";
export { Handle, isInside, realOrNull } from "./sandbox/handle.ts";
export {
  bunEnv,
  insideBun,
  prepareSandbox,
  proxySocket,
  type SandboxedCommand,
  type SandboxRequest,
} from "./sandbox/launch.ts";
export { found, placeOf, type Program, programOf } from "./sandbox/programs.ts";
export { endpointOf } from "./sandbox/addresses.ts";
export type { EgressPolicy } from "./sandbox/proxy.ts";
export { outermost, type Shown } from "./sandbox/view.ts";
