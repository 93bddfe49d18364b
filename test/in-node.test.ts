import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as host from "@uncaged/workflow/host";
import * as internal from "@uncaged/workflow/internal";
import { inNode } from "../scripts/in-node.ts";
import { top } from "./source.ts";

const folder = mkdtempSync(join(tmpdir(), "uncaged-in-node-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ["host", host],
  ["internal", internal],
])("a named import of %s reports in Node that it needs Bun", (as, module) => {
  const entry = readFileSync(join(top, `packages/workflow/src/entry/${as}.ts`), "utf8");
  writeFileSync(join(folder, "stub.mjs"), inNode(`@uncaged/workflow/${as}`, entry));
  const names = Object.keys(module);
  const program = `import { ${names.join(", ")} } from "./stub.mjs"; ${names[0]}();`;
  writeFileSync(join(folder, "program.mjs"), program);
  const node = Bun.which("node");
  if (node === null) throw new Error("missing node on PATH");
  const { stderr, exitCode } = Bun.spawnSync([node, "program.mjs"], { cwd: folder });
  expect(exitCode).toBe(1);
  expect(stderr.toString()).toContain(`Error: @uncaged/workflow/${as} needs Bun: run the program`);
  expect(stderr.toString()).not.toContain("SyntaxError");
  expect(stderr.toString()).not.toMatch(/^\s+at /m);
});
