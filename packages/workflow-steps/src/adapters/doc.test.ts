import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { docAdapter } from "./doc.ts";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "uncaged-steps-"));
  mkdirSync(join(cwd, "docs"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

test("documents are files named by their id, with the registry's title", async () => {
  writeFileSync(join(cwd, "docs/7.md"), "seven");
  writeFileSync(join(cwd, "docs/guide.txt"), "the guide");
  writeFileSync(join(cwd, "docs/a b.c"), "exactly");
  const docs = docAdapter({ cwd, docs: { 7: "Rules" } });
  expect(await docs.get([7, "guide", "a b.c"])).toEqual([
    { id: 7, title: "Rules", text: "seven" },
    { id: "guide", title: "guide", text: "the guide" },
    { id: "a b.c", title: "a b.c", text: "exactly" },
  ]);
});

test.each(["8", "../secret", "/etc/passwd", "", ".", "toString"])(
  "the id %p finds no document",
  async (id) => {
    writeFileSync(join(cwd, "secret.md"), "secret");
    const failure = await docAdapter({ cwd })
      .get([id])
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ type: "bad_request", code: "DOC_MISSING" });
  },
);
