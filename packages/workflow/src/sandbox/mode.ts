import { type Bubblewrap, findBubblewrap } from "./bubblewrap.ts";
import { sandboxMissing } from "./errors.ts";

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
