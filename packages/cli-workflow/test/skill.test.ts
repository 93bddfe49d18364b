import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { command } from "./command.ts";
import { removeFolders } from "./program.ts";
import { Projects } from "./projects.ts";

afterAll(removeFolders);

/** Returns the code blocks of a text, in order. */
const blocksOf = (text: string) =>
  [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = "", code = ""]) => ({
    language,
    code,
  }));

test("the skill is short, and its samples and commands work unchanged", async () => {
  const store = new Projects();
  const bin = join(store.folder, "bin");
  mkdirSync(bin);
  symlinkSync(command, join(bin, "uncaged-workflow"));
  const PATH = `${bin}:${dirname(process.execPath)}:${store.env.PATH}`;
  const skill = await store.ok(["skill"]);
  expect(skill).toMatch(/^---\nname: [a-z-]+\ndescription: [^\n]{50,1000}\n---\n/);
  expect(skill.split(/\s+/).length).toBeLessThanOrEqual(900);
  let cwd = store.folder;
  let ran = 0;
  for (const { language, code } of blocksOf(skill)) {
    const file = /^\/\/ (\S+)\n/.exec(code)?.[1];
    if (file !== undefined) writeFileSync(join(cwd, file), code);
    for (const line of language === "sh" ? code.trim().split("\n") : []) {
      const [, folder] = /^cd (\S+)$/.exec(line) ?? [];
      if (folder !== undefined) {
        cwd = resolve(cwd, folder);
        continue;
      }
      // npm would need a registry.
      const words = line.replace("npm install && npm test", "bun test");
      const child = Bun.spawn(["/bin/sh", "-c", words], {
        ...{ cwd, env: { ...store.env, PATH }, stdout: "pipe", stderr: "pipe" },
      });
      const [exit, stdout, stderr] = [await child.exited, child.stdout.text(), child.stderr.text()];
      const expected = Number(/# exit code (\d+)/.exec(line)?.[1] ?? 0);
      expect({ line, code: exit, output: (await stdout) + (await stderr) }).toEqual({
        ...{ line, code: expected, output: expect.any(String) },
      });
      ran += 1;
    }
  }
  expect(ran).toBe(13);
  const failed = await store.ok(["threads", "--search", "bad", "--json"], { cwd });
  expect(failed).toContain("bad can't be shipped");
}, 180_000);

test("a new project has an AGENTS.md, and an existing AGENTS.md stays unchanged", async () => {
  const store = new Projects();
  await store.ok(["new", "ship", "--template", "steps"]);
  const text = readFileSync(join(store.folder, "ship/AGENTS.md"), "utf8");
  expect(text).toContain("The source is `flow.json`");
  expect(text).toContain("npx uncaged-workflow run ship --wait --json");
  expect(text).not.toContain("{{");
  const cwd = store.project("mine");
  writeFileSync(join(cwd, "AGENTS.md"), "mine");
  await store.ok(["new", "."], { cwd });
  expect(readFileSync(join(cwd, "AGENTS.md"), "utf8")).toBe("mine");
});
