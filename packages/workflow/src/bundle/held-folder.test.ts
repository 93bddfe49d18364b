import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const file = join(import.meta.dir, "held-folder.ts");
const program = `
  const { HeldFolder } = await import(${JSON.stringify(file)});
  const { path } = await HeldFolder.open("held-");
  console.log(path);
  setInterval(() => {}, 1_000);`;

test("removes the folder of a killed process, and keeps the folder of a live one", async () => {
  const folder = mkdtempSync(join(tmpdir(), "uncaged-test-"));
  const begin = async () => {
    const env = { ...process.env, TMPDIR: folder };
    const child = Bun.spawn([process.execPath, "-e", program], { env, stdout: "pipe" });
    const { value } = await child.stdout.getReader().read();
    return { child, name: basename(new TextDecoder().decode(value).trim()) };
  };
  const [a, b] = [await begin(), await begin()];
  expect(readdirSync(folder).sort()).toEqual([a.name, b.name].sort());
  a.child.kill("SIGKILL");
  await a.child.exited;
  const c = await begin();
  expect(readdirSync(folder).sort()).toEqual([b.name, c.name].sort());
  for (const { child } of [b, c]) child.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});
