import { spawn } from "node:child_process";
import { isAnythingDue } from "@uncaged/workflow/internal";

/** This program as a command line. A standalone binary has its script and its flags within itself. */
const programWords = (): string[] =>
  Bun.isStandaloneExecutable
    ? [process.execPath]
    : [process.execPath, ...process.execArgv, Bun.main];

/**
 * Has another process wake what is due in a storage root: this one has something else to do, and ends. `named` is the
 * root as the command was given it; without it the other process finds the root as this one did.
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
  // The command that was called does not fail because of it.
  child.on("error", () => undefined);
  child.unref();
}
