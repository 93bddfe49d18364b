import { spawn } from "node:child_process";
import { isAnythingDue } from "@uncaged/workflow/internal";

/** Returns this program as a command line. A standalone binary contains its script and its flags. */
const programWords = (): string[] =>
  Bun.isStandaloneExecutable
    ? [process.execPath]
    : [process.execPath, ...process.execArgv, Bun.main];

/**
 * Starts another process that wakes due threads of a storage root, because this process has other work and may end.
 * `named` is the root given on the command line. If undefined, the other process finds the root like this process.
 */
export function wakeAside(
  root: string,
  named: string | undefined,
  env: Record<string, string>,
): void {
  if (!isAnythingDue(root)) return;
  const [program = "", ...args] = programWords();
  const rootWords = named === undefined ? [] : ["--root", named];
  const options = { env, detached: true, stdio: "ignore" } as const;
  const child = spawn(program, [...args, "wake", "--json", ...rootWords], options);
  // A failure here does not fail the command.
  child.on("error", () => undefined);
  child.unref();
}
