import { type Bubblewrap, findBubblewrap } from "./bubblewrap.ts";
import { sandboxMissing } from "./errors.ts";

/** Use of bubblewrap: `off` never uses it, `auto` uses it if it works, `required` fails without it. */
export type SandboxMode = "off" | "auto" | "required";

/**
 * Finds bubblewrap according to a mode; returns the reason as a text when there is no sandbox. Programs below
 * `writable` are not used: sandboxed code may have written them.
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
