import { WorkflowError } from "../contract/error.ts";
import { type Bubblewrap, findBubblewrap } from "./bubblewrap.ts";

/** Whether code runs in bubblewrap: never, where that works, or not at all without it. */
export type SandboxMode = "off" | "auto" | "required";

/**
 * Finds bubblewrap as a mode asks for it; a text says why there is no sandbox. Programs below `writable` are not used:
 * sandboxed code may have written them.
 *
 * @throws WorkflowError `SANDBOX_MISSING` when a sandbox is required and bubblewrap does not work here
 */
export async function bubblewrapFor(
  mode: SandboxMode,
  env: { PATH?: string },
  writable: readonly string[] = [],
): Promise<Bubblewrap | string> {
  if (mode === "off") return "the sandbox is off";
  const found = await findBubblewrap(env, writable);
  if (mode === "required" && typeof found === "string") throw sandboxMissing(found);
  return found;
}

/** The error of a required sandbox that this machine can't provide. */
export const sandboxMissing = (problem: string): WorkflowError =>
  WorkflowError.failed(
    "SANDBOX_MISSING",
    `a sandbox is required: ${problem}`,
    "install bubblewrap 0.8 or later where user namespaces are allowed, or set the sandbox to auto",
  );
