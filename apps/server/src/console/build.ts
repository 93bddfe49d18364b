import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { WorkflowError } from "@uncaged/workflow/host";
import { consoleFolder } from "./console.ts";

/**
 * Builds the console where its sources are at hand and it was not built yet: in a checkout. Packed, it
 * is there already. `onBuild` is called before that takes its seconds.
 *
 * @throws WorkflowError `CONSOLE_FAILED` with the last line that the build printed.
 */
export async function buildConsole(onBuild: () => void): Promise<void> {
  const folder = consoleFolder();
  const sources = dirname(folder);
  if (existsSync(join(folder, "index.html")) || !existsSync(join(sources, "vite.config.ts")))
    return;
  onBuild();
  const build = Bun.spawn([process.execPath, "--bun", "run", "build"], {
    cwd: sources,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, NO_COLOR: "1" },
  });
  const [printed, complained, code] = await Promise.all([
    new Response(build.stdout).text(),
    new Response(build.stderr).text(),
    build.exited,
  ]);
  if (code === 0) return;
  const last = `${printed}\n${complained}`.trim().split("\n").at(-1) ?? "";
  throw new WorkflowError({
    code: "CONSOLE_FAILED",
    kind: "failed",
    message: `the console can't be built: ${last.slice(0, 300)}`,
    hint: `see what is wrong: bun run build, in ${sources}`,
  });
}
