import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { putBundle } from "../bundle/store.ts";
import { isWorkflowError, type WorkflowError } from "../contract/error.ts";
import { changeRegistry } from "../registry/change.ts";
import { register } from "../registry/versions.ts";
import { bundlePath, dataPath, descriptorPath, registryPath, type Root } from "../disk/paths.ts";
import { sha256 } from "../record/sha256.ts";
import { openRoot } from "../disk/root.ts";
import { resolveWorkflow } from "./threads/start.ts";
import {
  historyOf,
  listWorkflows,
  removeWorkflow,
  rollbackWorkflow,
  showWorkflow,
} from "./workflows.ts";

let root: Root;
beforeEach(() => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "workflows-")) });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function add(name: string, text: string, now = 1): Promise<string> {
  const descriptor = { description: text, roles: { coder: { description: "codes", schema: {} } } };
  const hash = await putBundle(root, new TextEncoder().encode(text), { descriptor });
  await changeRegistry(root, (registry) => register(registry, name, hash, now));
  return hash;
}

function addThread(hash: string, threadId: string): void {
  const path = dataPath(root, hash, threadId);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "{}\n");
}

async function refusal(act: Promise<unknown>): Promise<WorkflowError> {
  const error = await act.then(
    () => new Error("the call was not refused"),
    (thrown: unknown) => thrown,
  );
  if (isWorkflowError(error)) return error;
  throw error;
}

describe("a list of workflows", () => {
  test("is sorted by name, with description and number of versions", async () => {
    const a = await add("second", "it is second", 5);
    await add("first", "old");
    const b = await add("first", "it is first", 7);
    expect(await listWorkflows(root)).toEqual([
      { name: "first", hash: b, timestamp: 7, description: "it is first", versions: 2 },
      { name: "second", hash: a, timestamp: 5, description: "it is second", versions: 1 },
    ]);
  });

  test("includes workflows with missing bundles or broken descriptors", async () => {
    const [a, b, c] = [await add("a", "1"), await add("b", "2"), await add("c", "3")];
    rmSync(bundlePath(root, a));
    rmSync(descriptorPath(root, a));
    writeFileSync(descriptorPath(root, b), "roles: [");
    const rows = await listWorkflows(root);
    expect(rows.map(({ hash, description }) => [hash, description])).toEqual([
      [a, ""],
      [b, ""],
      [c, "3"],
    ]);
  });

  test("of a missing storage root is empty and does not create it", async () => {
    const missing = openRoot({ path: join(root, "missing") });
    expect(await listWorkflows(missing)).toEqual([]);
    expect(existsSync(missing)).toBe(false);
  });
});

describe("a workflow is shown", () => {
  test("with its history, newest first, and its descriptor", async () => {
    const [a, b, c] = [await add("w", "1", 1), await add("w", "2", 2), await add("w", "3", 3)];
    expect(await showWorkflow(root, "w")).toEqual({
      name: "w",
      hash: c,
      timestamp: 3,
      history: [
        { hash: b, timestamp: 2 },
        { hash: a, timestamp: 1 },
      ],
      descriptor: { description: "3", roles: { coder: { description: "codes", schema: {} } } },
    });
  });

  test("without a descriptor when its files are missing", async () => {
    const hash = await add("w", "1");
    rmSync(descriptorPath(root, hash));
    expect((await showWorkflow(root, "w")).descriptor).toBeNull();
  });

  test("only when it exists", async () => {
    expect(await refusal(showWorkflow(root, "w"))).toMatchObject({
      code: "WORKFLOW_NOT_FOUND",
      kind: "missing",
    });
  });
});

test("a history shows the current version and the number of threads of each version", async () => {
  const [a, b] = [await add("w", "1", 1), await add("w", "2", 2)];
  addThread(a, "01KQXKW18CT8G75T53R8F4G7YG");
  addThread(a, "01KQXKW18CT8G75T53R8F4G7YH");
  await rollbackWorkflow(root, "w");
  expect(await historyOf(root, "w")).toMatchObject([
    { hash: b, sha256: sha256("2"), timestamp: 2, current: false, threads: 0 },
    { hash: a, sha256: sha256("1"), timestamp: 1, current: true, threads: 2 },
  ]);
});

describe("rollback", () => {
  test("walks back, ends at the first version, and goes forward to a named version", async () => {
    const [a, b, c] = [await add("w", "1", 1), await add("w", "2", 2), await add("w", "3", 3)];
    expect(await rollbackWorkflow(root, "w")).toEqual({ name: "w", hash: b, previous: c });
    expect(await rollbackWorkflow(root, "w")).toEqual({ name: "w", hash: a, previous: b });
    expect(await refusal(rollbackWorkflow(root, "w"))).toMatchObject({
      code: "NOTHING_TO_ROLL_BACK",
      kind: "failed",
    });
    expect(await rollbackWorkflow(root, "w", c.slice(0, 6).toLowerCase())).toEqual({
      name: "w",
      hash: c,
      previous: a,
    });
  });

  test("does not point a name to a bundle that is missing", async () => {
    const [a, b] = [await add("w", "1", 1), await add("w", "2", 2)];
    rmSync(bundlePath(root, a));
    expect((await refusal(rollbackWorkflow(root, "w"))).code).toBe("BUNDLE_MISSING");
    expect((await showWorkflow(root, "w")).hash).toBe(b);
  });

  test("of a missing workflow does not create a storage root", async () => {
    const missing = openRoot({ path: join(root, "missing") });
    expect((await refusal(rollbackWorkflow(missing, "w"))).code).toBe("WORKFLOW_NOT_FOUND");
    expect((await refusal(removeWorkflow(missing, "w"))).code).toBe("WORKFLOW_NOT_FOUND");
    expect(existsSync(missing)).toBe(false);
  });
});

test("removal deletes the name, and keeps bundles and threads", async () => {
  const hash = await add("w", "1");
  addThread(hash, "01KQXKW18CT8G75T53R8F4G7YG");
  expect(await removeWorkflow(root, "w")).toEqual({ name: "w" });
  expect(await listWorkflows(root)).toEqual([]);
  expect(existsSync(bundlePath(root, hash))).toBe(true);
  expect(existsSync(dataPath(root, hash, "01KQXKW18CT8G75T53R8F4G7YG"))).toBe(true);
  expect((await refusal(removeWorkflow(root, "w"))).kind).toBe("missing");
});

describe("the version to run is found by", () => {
  test("its name", async () => {
    const hash = await add("w", "1");
    expect(await resolveWorkflow(root, "w")).toEqual({ name: "w", hash });
  });

  test("its name and a prefix of a version's hash", async () => {
    const [a] = [await add("w", "1", 1), await add("w", "2", 2)];
    expect(await resolveWorkflow(root, `w@${a.slice(0, 4).toLowerCase()}`)).toEqual({
      name: "w",
      hash: a,
    });
    const other = await add("other", "3");
    expect((await refusal(resolveWorkflow(root, `w@${other}`))).code).toBe("VERSION_NOT_FOUND");
    expect((await refusal(resolveWorkflow(root, "w@"))).code).toBe("VERSION_NOT_FOUND");
    expect((await refusal(resolveWorkflow(root, `none@${a}`))).code).toBe("WORKFLOW_NOT_FOUND");
  });

  test("its hash or a prefix of it, with the name that points to it", async () => {
    const [a, b] = [await add("w", "1", 1), await add("w", "2", 2)];
    expect(await resolveWorkflow(root, b)).toEqual({ name: "w", hash: b });
    expect(await resolveWorkflow(root, a.slice(0, 4))).toEqual({ name: "w", hash: a });
  });

  test("the hash of an unnamed bundle, which becomes its name", async () => {
    const hash = await add("w", "1");
    await removeWorkflow(root, "w");
    expect(await resolveWorkflow(root, hash.toLowerCase())).toEqual({ name: hash, hash });
  });

  test("its name, even if the name looks like a hash", async () => {
    const other = await add("w", "1");
    const hash = await add(other.slice(0, 5), "2");
    expect((await resolveWorkflow(root, other.slice(0, 5))).hash).toBe(hash);
  });
});

test.each(["", "@", "none", "ABC", "0000000000000", "../x", "a\0", "w@../x"])(
  "%p does not name a version to run",
  async (text) => {
    await add("w", "1");
    expect((await refusal(resolveWorkflow(root, text))).kind).toBe("missing");
  },
);

test("an ambiguous prefix is refused with the candidates", async () => {
  const bundles = join(root, "bundles");
  mkdirSync(bundles);
  for (const hash of ["AB00000000001", "AB00000000002"]) {
    writeFileSync(join(bundles, `${hash}.esm.js`), "");
  }
  const error = await refusal(resolveWorkflow(root, "ab00"));
  expect(error).toMatchObject({ code: "VERSION_AMBIGUOUS", kind: "usage" });
  expect(error.hint).toContain("AB00000000001, AB00000000002");
});

test("a name whose bundle is missing can't be run", async () => {
  const hash = await add("w", "1");
  rmSync(bundlePath(root, hash));
  const error = await refusal(resolveWorkflow(root, "w"));
  expect(error).toMatchObject({ code: "BUNDLE_MISSING", kind: "missing" });
  expect(error.message).toContain(bundlePath(root, hash));
});

test("a broken registry stops every command and stays unchanged", async () => {
  await add("w", "1");
  appendFileSync(registryPath(root), "\t\n x");
  const text = readFileSync(registryPath(root), "utf8");
  for (const act of [
    listWorkflows(root),
    showWorkflow(root, "w"),
    historyOf(root, "w"),
    rollbackWorkflow(root, "w"),
    removeWorkflow(root, "w"),
    resolveWorkflow(root, "w"),
  ]) {
    expect((await refusal(act)).code).toBe("REGISTRY_BROKEN");
  }
  expect(readFileSync(registryPath(root), "utf8")).toBe(text);
});
