import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildBundle } from "../../workflow/src/bundle/build.ts";
import { checkBytes } from "../../workflow/src/bundle/check.ts";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "uncaged-bundles-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const cases = [
  { name: "model", most: 390, said: "done", lacks: ["OPENAI_API_KEY", "runCommand"] },
  { name: "files", most: 160, said: "go docs/1.md true function", lacks: ["ANTHROPIC_API_KEY"] },
] as const;

describe.each(cases)("a bundle with only the adapters of $name", ({ name, most, said, lacks }) => {
  test(`is a single valid file of at most ${most} KB that runs by itself`, async () => {
    const source = fileURLToPath(new URL(`./bundles/${name}.ts`, import.meta.url));
    const { code } = await buildBundle(source);
    expect(checkBytes(code, `${name}.esm.js`)).toEqual([]);
    expect(code.byteLength / 1024).toBeLessThan(most);
    const text = new TextDecoder().decode(code);
    for (const word of lacks) expect(text).not.toContain(word);

    const path = join(folder, `${name}.esm.js`);
    await Bun.write(path, code);
    const { url, key, stop } = await anthropicServer([{ text: "done" }]);
    const env = { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url };
    const options = { threadId: "t", maxRounds: 9, cwd: folder, env };
    const runner = `
      const { run } = await import(${JSON.stringify(path)});
      const thread = run({ prompt: "go", steps: [] }, ${JSON.stringify(options)});
      for await (const step of thread) console.log(step.content);`;
    for (const runtime of [process.execPath, "node"]) {
      const args = runtime === "node" ? ["--input-type=module"] : [];
      const child = Bun.spawn([runtime, ...args, "-e", runner], { stderr: "pipe", cwd: folder });
      const [out, failed] = [await child.stdout.text(), await child.stderr.text()];
      expect({ out, failed }).toEqual({ out: `${said}\n`, failed: "" });
    }
    await stop();
  });
});
