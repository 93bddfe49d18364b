import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashOf } from "../src/bundle/hash.ts";
import { loadBundle, putBundle } from "../src/bundle/store.ts";
import { prepareBundle } from "../src/bundle/prepare.ts";
import { isWorkflowError, type WorkflowError } from "../src/contract/error.ts";
import { openRoot } from "../src/disk/root.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "prepare-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);
const sound = `export const descriptor = { description: "x", roles: {} };
export async function* run() { return { returnCode: 0, summary: "done" }; }
`;
async function write(name: string, text: string | Uint8Array): Promise<string> {
  await writeFile(at(name), text);
  return at(name);
}
async function refusal(file: string, options: { types?: string } = {}): Promise<WorkflowError> {
  const error: unknown = await prepareBundle(file, options).then(
    () => new Error("the file was accepted"),
    (thrown: unknown) => thrown,
  );
  if (!isWorkflowError(error)) throw error;
  expect(error.message).not.toContain("\n");
  return error;
}

describe("a valid file", () => {
  test("an .esm.js is stored byte for byte", async () => {
    const bytes = new TextEncoder().encode(`#!/usr/bin/env node\n\r\n${sound}// é\u2028`);
    const prepared = await prepareBundle(await write("b.esm.js", bytes));
    expect(prepared).toEqual({ bytes, descriptor: { description: "x", roles: {} } });
  });

  test("its types are included", async () => {
    const file = await write("b.esm.js", sound);
    const types = await write("b.d.ts", "export declare const run: unknown;");
    expect((await prepareBundle(file, { types })).types).toBe("export declare const run: unknown;");
  });

  test("a .ts is built, stored, loaded and run", async () => {
    const file = await write("flow.ts", `const x: string = "x"; ${sound} export { x };`);
    const prepared = await prepareBundle(file);
    const root = openRoot({ path: at("root") });
    const hash = await putBundle(root, prepared.bytes, prepared);
    expect(hash).toBe(hashOf(prepared.bytes));
    const { run } = await loadBundle(root, hash);
    const { value } = await run({ prompt: "", steps: [] }, { threadId: "", maxRounds: 1 }).next();
    expect(value).toEqual({ returnCode: 0, summary: "done" });
  });
});

describe("a path without a bundle", () => {
  test("a missing file", async () => {
    expect(await refusal(at("none.esm.js"))).toMatchObject({
      code: "NO_SUCH_FILE",
      kind: "missing",
      message: `"${at("none.esm.js")}": no such file`,
    });
    await write("file", "x");
    expect((await refusal(at("file/b.esm.js"))).kind).toBe("missing");
  });

  test("a folder", async () => {
    await mkdir(at("b.esm.js"));
    expect(await refusal(at("b.esm.js"))).toMatchObject({ code: "NOT_A_FILE", kind: "usage" });
  });

  test("a FIFO, without waiting for it", async () => {
    Bun.spawnSync(["mkfifo", at("b.esm.js")]);
    expect((await refusal(at("b.esm.js"))).code).toBe("NOT_A_FILE");
  });

  test("an empty file", async () => {
    expect((await refusal(await write("b.esm.js", ""))).code).toBe("EMPTY_FILE");
    expect((await refusal(await write("flow.ts", ""))).code).toBe("EMPTY_FILE");
  });

  test.if(process.geteuid?.() !== 0)("an unreadable file", async () => {
    await chmod(await write("b.esm.js", sound), 0);
    expect((await refusal(at("b.esm.js"))).code).toBe("NO_PERMISSION");
  });

  test("another file extension", async () => {
    for (const name of ["b.js", "b.mjs", "b.cjs", "b", "b.esm.jsx", "b.d.ts", "b.txt", ".esm"]) {
      const { code, kind } = await refusal(await write(name, sound));
      expect([name, code, kind]).toEqual([name, "NOT_A_BUNDLE", "usage"]);
    }
    for (const name of ["b.json", "b.yaml", "b.yml"]) {
      expect((await refusal(await write(name, "{}"))).message).toContain(
        "JSON and YAML are not supported here",
      );
    }
  });

  test("more than 64 MiB", async () => {
    await truncate(await write("b.esm.js", sound), 64 * 2 ** 20 + 1);
    expect((await refusal(at("b.esm.js"))).code).toBe("FILE_TOO_LARGE");
  });

  test("an invalid path", async () => {
    expect((await refusal(at("a\0b.esm.js"))).code).toBe("BAD_PATH");
    expect((await refusal(`${at("a".repeat(5000))}.esm.js`)).code).toBe("BAD_PATH");
  });

  test("types that are missing, a folder or not text", async () => {
    const file = await write("b.esm.js", sound);
    expect((await refusal(file, { types: at("none.d.ts") })).kind).toBe("missing");
    expect((await refusal(file, { types: folder })).code).toBe("NOT_A_FILE");
    const types = await write("b.d.ts", new Uint8Array([0xff, 0xfe, 0xff]));
    expect((await refusal(file, { types })).code).toBe("BAD_TYPES");
  });
});

describe("a bundle that breaks the rules", () => {
  test("is reported with its first finding, and all findings in the details", async () => {
    const file = await write("b.esm.js", `import z from "zod";\nexport default import("x");`);
    const { code, kind, message, details } = await refusal(file);
    expect([code, kind]).toEqual(["BUNDLE_REFUSED", "failed"]);
    expect(message).toBe(
      `${file}:1:15: imports "zod", which is not a Node built-in (builtins-only), and 4 more`,
    );
    expect(details).toHaveLength(5);
    expect(details?.[1]).toStartWith(`${file}:2:1: default export not allowed`);
  });

  test("is not run", async () => {
    const ran = at("ran");
    const source = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(ran)}, "");
      import "zod"; ${sound}`;
    expect((await refusal(await write("b.esm.js", source))).code).toBe("BUNDLE_REFUSED");
    expect(await Bun.file(ran).exists()).toBe(false);
  });
});

describe("a source whose bundle breaks the rules is reported with the author's own line", () => {
  test("a dynamic import", async () => {
    const file = await write(
      "flow.ts",
      `${sound}\nexport const load = (x: string) =>\n  import(x);`,
    );
    expect((await refusal(file)).message).toBe(
      `${file}:5:3: import() is not allowed: import at the top, and bundle the imported module (no-dynamic-import)`,
    );
  });

  test("an error at the top level", async () => {
    const file = await write(
      "flow.ts",
      `type A = string;\n${sound}\n\n  throw new Error("no key");`,
    );
    expect((await refusal(file)).message).toMatch(
      /flow\.ts:6:\d+: no key, thrown by: throw new Error\("no key"\);$/,
    );
  });
});
