import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

const app = join(import.meta.dir, "..");

export const dist = join(app, "dist");

/** Builds the console if its sources are newer than the build. */
export async function buildConsole(): Promise<void> {
  const built = join(dist, "index.html");
  if (existsSync(built) && newestSource() < statSync(built).mtimeMs) return;
  const child = Bun.spawn([process.execPath, "--bun", "run", "build"], {
    cwd: app,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0)
    throw new Error(`the console can't be built:\n${stdout}${stderr}`);
}

const newestSource = (): number =>
  Math.max(
    ...[
      ...new Bun.Glob("{src,public}/**/*").scanSync({ cwd: app }),
      "index.html",
      "package.json",
    ].map((path) => statSync(join(app, path)).mtimeMs),
  );
