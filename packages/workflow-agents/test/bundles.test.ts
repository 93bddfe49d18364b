import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildBundle } from "../../workflow/src/bundle/build.ts";
import { checkBytes } from "../../workflow/src/bundle/check.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { openaiServer } from "./openai-server.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "uncaged-bundles-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const serve = { anthropic: anthropicServer, openai: openaiServer, scripted: null };

const cases = [
  { name: "anthropic", most: 390, lacks: ["OPENAI_API_KEY"] },
  { name: "openai", most: 900, lacks: ["ANTHROPIC_API_KEY"] },
  { name: "scripted", most: 16, lacks: ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "fetch"] },
] as const;

describe.each(some(cases))("a workflow with only the $name agent", ({ name, most, lacks }) => {
  test(`is one file of at most ${most} KB that passes the checks of bundles and runs without other files`, async () => {
    const source = fileURLToPath(new URL(`./bundles/${name}.ts`, import.meta.url));
    const { code } = await buildBundle(source);
    expect(checkBytes(code, `${name}.esm.js`)).toEqual([]);
    expect(code.byteLength / 1024).toBeLessThan(most);
    const text = new TextDecoder().decode(code);
    for (const word of lacks) expect(text).not.toContain(word);

    const path = join(folder, `${name}.esm.js`);
    await Bun.write(path, code);
    const server = await serve[name]?.([{ text: "done" }]);
    const { url = "", key = "" } = server ?? {};
    const env = {
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: url,
      OPENAI_API_KEY: key,
      OPENAI_BASE_URL: url,
    };
    const runner = `
      const { run } = await import(${JSON.stringify(path)});
      const options = { threadId: "t", maxRounds: 9, env: ${JSON.stringify(env)} };
      for await (const step of run({ prompt: "go", steps: [] }, options)) console.log(step.content);`;
    for (const runtime of [process.execPath, "node"]) {
      const args = runtime === "node" ? ["--input-type=module"] : [];
      const child = Bun.spawn([runtime, ...args, "-e", runner], { stderr: "pipe", cwd: folder });
      const [said, failed] = [await child.stdout.text(), await child.stderr.text()];
      expect({ said, failed }).toEqual({ said: "done\n", failed: "" });
    }
    await server?.stop();
  });
});
