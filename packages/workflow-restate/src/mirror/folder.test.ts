import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TemporaryFolder } from "./folder.ts";

const parent = mkdtempSync(join(tmpdir(), "uw-folder-"));
afterAll(() => rmSync(parent, { recursive: true, force: true }));

const program = `
  import { TemporaryFolder } from ${JSON.stringify(join(import.meta.dir, "folder.ts"))};
  console.log(new TemporaryFolder(${JSON.stringify(parent)}).path);
  process.stdin.on("data", () => process.exit(0));
`;

/** Starts a process with a temporary folder. */
async function begin() {
  const child = Bun.spawn([process.execPath, "-e", program], { stdin: "pipe", stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  return { child, path: new TextDecoder().decode(value).trim() };
}

test("a process deletes its folder when it exits; the next process deletes the folder of a killed process", async () => {
  const [ended, killed, lives] = await Promise.all([begin(), begin(), begin()]);
  await ended.child.stdin.write("end");
  await ended.child.stdin.end();
  await ended.child.exited;
  expect(existsSync(ended.path)).toBe(false);
  killed.child.kill("SIGKILL");
  await killed.child.exited;
  expect(existsSync(killed.path)).toBe(true);
  const own = new TemporaryFolder(parent);
  expect(
    readdirSync(parent)
      .map((name) => join(parent, name))
      .sort(),
  ).toEqual([own.path, lives.path].sort());
  own.remove();
  expect(existsSync(own.path)).toBe(false);
  lives.child.kill("SIGKILL");
  await lives.child.exited;
});
