import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashOf } from "../src/bundle/hash.ts";
import { isWorkflowError, type WorkflowError } from "../src/contract/error.ts";
import { verifyStore } from "../src/local/upkeep/verify.ts";
import {
  addWorkflow,
  historyOf,
  listWorkflows,
  removeWorkflow,
  showWorkflow,
} from "../src/local/workflows.ts";
import { bundlePath, registryPath, type Root } from "../src/disk/paths.ts";
import { openRoot } from "../src/disk/root.ts";

let folder: string;
let root: Root;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "add-"));
  root = openRoot({ path: join(folder, "root") });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const bundle = (description: string) => `
export const descriptor = {
  description: ${JSON.stringify(description)},
  roles: { coder: { description: "codes", schema: { type: "object" } } },
};
export const run = async function* (input, options) {
  yield { role: "coder", content: input.prompt, meta: {} };
  return { returnCode: 0, summary: "done" };
};
`;

async function refusal(act: Promise<unknown>): Promise<WorkflowError> {
  const error = await act.then(
    () => new Error("the bundle was not refused"),
    (thrown: unknown) => thrown,
  );
  if (isWorkflowError(error)) return error;
  throw error;
}

test("a bundle is stored byte for byte with its descriptor, and its name points to it", async () => {
  const file = write("w.esm.js", bundle("first"));
  const added = await addWorkflow(root, "w", file);
  const bytes = readFileSync(file);
  expect(added).toEqual({ name: "w", hash: hashOf(bytes), unchanged: false });
  expect(readFileSync(bundlePath(root, added.hash))).toEqual(bytes);
  expect(statSync(bundlePath(root, added.hash)).mode & 0o777).toBe(0o600);
  expect((await showWorkflow(root, "w")).descriptor).toEqual({
    description: "first",
    roles: { coder: { description: "codes", schema: { type: "object" } } },
  });
  expect((await verifyStore(root)).problems).toEqual([]);
});

test("adding the same bundle again is not a change and does not extend the history", async () => {
  const file = write("w.esm.js", bundle("first"));
  const { hash } = await addWorkflow(root, "w", file);
  expect(await addWorkflow(root, "w", file)).toEqual({ name: "w", hash, unchanged: true });
  expect(await historyOf(root, "w")).toHaveLength(1);
});

test("one bundle may have several names, and outlives its first name", async () => {
  const file = write("w.esm.js", bundle("first"));
  const { hash } = await addWorkflow(root, "one", file);
  expect(await addWorkflow(root, "two", file)).toEqual({ name: "two", hash, unchanged: false });
  await removeWorkflow(root, "one");
  expect((await listWorkflows(root)).map(({ name }) => name)).toEqual(["two"]);
});

describe("nothing is written when", () => {
  test.each([
    ["the file is missing", "none.esm.js", "missing"],
    ["the file is a folder", ".", "usage"],
    ["the file extension is unknown", "w.js", "usage"],
    ["the file is not a module", "broken.esm.js", "failed"],
    ["run is not a generator", "function.esm.js", "failed"],
    ["the file is empty", "empty.esm.js", "failed"],
  ] as const)("%s", async (_what, name, kind) => {
    write("w.js", bundle("w"));
    write("broken.esm.js", "export const = 1;\n");
    write("function.esm.js", bundle("w").replace("async function*", "async function"));
    write("empty.esm.js", "");
    expect((await refusal(addWorkflow(root, "w", join(folder, name)))).kind).toBe(kind);
    expect(existsSync(root)).toBe(false);
  });

  test("the types can't be read", async () => {
    const file = write("w.esm.js", bundle("w"));
    const types = join(folder, "none.d.ts");
    expect((await refusal(addWorkflow(root, "w", file, { types }))).kind).toBe("missing");
    expect(existsSync(root)).toBe(false);
  });

  test("the name is invalid, before the bundle is read", async () => {
    const error = await refusal(addWorkflow(root, "../w", join(folder, "none.esm.js")));
    expect(error).toMatchObject({ code: "BAD_NAME", kind: "usage" });
    expect(existsSync(root)).toBe(false);
  });

  test("another name differs only by case", async () => {
    await addWorkflow(root, "review", write("a.esm.js", bundle("a")));
    const before = [readFileSync(registryPath(root), "utf8"), readdirSync(join(root, "bundles"))];
    const added = addWorkflow(root, "Review", write("b.esm.js", bundle("b")));
    expect((await refusal(added)).code).toBe("NAME_TAKEN");
    const after = [readFileSync(registryPath(root), "utf8"), readdirSync(join(root, "bundles"))];
    expect(after).toEqual(before);
  });

  test("the registry is broken or newer", async () => {
    await addWorkflow(root, "a", write("a.esm.js", bundle("a")));
    const good = readFileSync(registryPath(root), "utf8");
    const before = readdirSync(join(root, "bundles"));
    const file = write("b.esm.js", bundle("b"));
    for (const [text, code] of [
      [`${good}x`, "REGISTRY_BROKEN"],
      [`${good}schema: 2\n`, "REGISTRY_NEWER"],
    ] as const) {
      writeFileSync(registryPath(root), text);
      expect((await refusal(addWorkflow(root, "b", file))).code).toBe(code);
      expect(readFileSync(registryPath(root), "utf8")).toBe(text);
      expect(readdirSync(join(root, "bundles"))).toEqual(before);
    }
  });
});
